import { config } from '../../lib/config.ts';

/** The page where a customer pays; null if nothing has to be paid and the plan or the credits are active already. */
export type CheckoutUrl = string | null;

/** Returns the pages that a customer returns to from a checkout. */
export function getCheckoutReturnUrls(): { successUrl: string; cancelUrl: string } {
  return {
    successUrl: `${config.BILLING_RETURN_URL}?checkout=success`,
    cancelUrl: `${config.BILLING_RETURN_URL}?checkout=canceled`,
  };
}

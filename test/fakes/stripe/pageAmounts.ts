import type Stripe from 'stripe';
import { type Coupon, type StripeStore, getId } from './store.ts';

/** Returns the discount of a price, which never exceeds it. */
function computeDiscount(price: number, coupon: Coupon): number {
  return Math.min(price, 'percentOff' in coupon ? Math.round((price * coupon.percentOff) / 100) : coupon.amountOff);
}

/** Returns the tax that is added to a net amount. */
export function computeTax({ taxPercent }: StripeStore, netCents: number): number {
  return Math.round((netCents * taxPercent) / 100);
}

/** Redeems a promotion code on a page and adds tax, as the customer sees it before paying. */
export function applyPageAmounts(store: StripeStore, session: Stripe.Checkout.Session, code?: string): void {
  const subtotal = session.amount_subtotal ?? 0;
  const page = store.checkoutParams.get(session.id);
  const coupon = code === undefined ? undefined : store.promotionCodes.get(code);
  if (code !== undefined && (session.allow_promotion_codes !== true || coupon === undefined))
    throw new Error(`The page ${session.id} does not accept the promotion code ${code}.`);
  const discount = coupon === undefined ? 0 : computeDiscount(subtotal, coupon);
  const tax = page?.hasTax === true ? computeTax(store, subtotal - discount) : 0;
  session.amount_total = subtotal - discount + tax;
  session.total_details = { amount_discount: discount, amount_shipping: 0, amount_tax: tax };
  if (page?.savesAddress !== true) return;
  const customer = store.get('customer', getId(session.customer));
  customer.address ??= { city: null, country: 'DE', line1: null, line2: null, postal_code: '10115', state: null };
}

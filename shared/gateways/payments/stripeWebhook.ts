/** Event types that the service processes (docs/decisions.md: Billing), in Stripe's names. */
export const EVENT_TYPES = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'invoice.paid',
  'invoice.payment_failed',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.updated',
  'payment_method.attached',
  'payment_method.detached',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'charge.refunded',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
  'credit_note.created',
  'credit_note.voided',
  'account.updated',
  'transfer.reversed',
] as const;

/** Maximum age of a webhook in seconds. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/**
 * Checks whether a `Stripe-Signature` header is well-formed and recent, before the body is read. Verifying it requires
 * the body and the secret.
 */
export function isRecentSignature(header: string): boolean {
  const parts = header.split(',').map((part) => part.trim());
  const timestamp = parts.map((part) => /^t=(\d{1,12})$/.exec(part)?.[1]).find((seconds) => seconds !== undefined);
  if (timestamp === undefined || !parts.some((part) => /^v1=[0-9a-f]{64}$/.test(part))) return false;
  return Date.now() / 1_000 - Number(timestamp) <= SIGNATURE_TOLERANCE_SECONDS;
}

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

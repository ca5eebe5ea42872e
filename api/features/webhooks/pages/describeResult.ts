import type { DeliveryAttempt } from '../../../../shared/tables/WebhookDelivery.ts';
import { DELIVERIES, ERRORS } from './deliveryTexts.ts';

/** Describes the result of an attempt, or why there was none. */
export function describeResult({ status, error }: Pick<DeliveryAttempt, 'status' | 'error'>): string {
  if (error === 'redirect') return DELIVERIES.redirect({ status: String(status) });
  if (error !== null && error !== `status ${status}`) return isKnownError(error) ? ERRORS[error]() : error;
  return status === null ? '–' : `HTTP ${status}`;
}

function isKnownError(error: string): error is keyof typeof ERRORS {
  return Object.hasOwn(ERRORS, error);
}

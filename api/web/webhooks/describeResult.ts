import type { ListedDelivery } from '../../../shared/domain/webhooks/deliveries.ts';

/** Describes the outcome of the last attempt, and what to do if it failed. */
export function describeResult({ status, last_attempt_at, last_status, last_error }: ListedDelivery): string {
  if (last_error !== null) return last_error;
  if (last_status !== null) return `HTTP ${last_status}`;
  if (last_attempt_at === null) return status === 'pending' ? 'Not attempted yet' : '–';
  return '–';
}

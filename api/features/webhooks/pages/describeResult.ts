import type { DeliveryAttempt } from '../../../../shared/tables/WebhookDelivery.ts';

/** Sentences for the errors of attempts. Others are shown as they are. */
const ERRORS: Record<string, string> = {
  timeout: 'No response within 15 seconds',
  'connection refused': 'Connection refused',
  'connection failed': 'Connection failed',
  unreachable: 'Host not reachable',
  reset: 'Connection closed before the response',
  TLS: 'TLS error: the certificate is not valid for this name, or no common version',
  'name not resolved': 'Host name not found',
  'private address': 'The address is not public',
  'not https': 'The address does not begin with https',
  'invalid address': 'The address is not valid',
  'invalid response': 'The response is not valid HTTP',
  endpoint_disabled: 'The endpoint was disabled',
};

/** Describes the result of an attempt, or why there was none. */
export function describeResult({ status, error }: Pick<DeliveryAttempt, 'status' | 'error'>): string {
  if (error === 'redirect') return `HTTP ${status}: redirects are not followed`;
  if (error !== null && error !== `status ${status}`) return ERRORS[error] ?? error;
  return status === null ? '–' : `HTTP ${status}`;
}

import type { ListedDelivery } from '../../../../shared/domain/webhooks/deliveries.ts';

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

/** Describes the outcome of the last attempt, or why there was none. */
export function describeResult({ status, last_attempt_at, last_status, last_error }: ListedDelivery): string {
  if (last_error === 'redirect') return `HTTP ${last_status}: redirects are not followed`;
  if (last_error !== null && last_error !== `status ${last_status}`) return ERRORS[last_error] ?? last_error;
  if (last_status !== null) return `HTTP ${last_status}`;
  return status === 'pending' && last_attempt_at === null ? 'Not attempted yet' : '–';
}

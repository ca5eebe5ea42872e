import { SESSION_ENDED_DETAIL } from '../../../shared/domain/accounts/accounts.ts';
import { type HttpReply, recordRequest, reportInternalError, sendHttp } from './httpClient.ts';
import { reportViolation, type Step } from './clientState.ts';

/** A request for a page, with the session cookie of the customer. */
interface PageRequest {
  kind: string;
  method: 'GET' | 'POST';
  path: string;
  address: string;
  /** The service's own origin, which forms need. */
  origin?: string;
  form?: Record<string, string>;
}

/** Redirects to the sign-in and after a form, rejections of a form, of a suspended account, and outages. */
const EXPECTED_STATUSES = [200, 302, 303, 400, 403, 404, 500, 503];

/** Sends a request for a page. */
export async function sendPageRequest(step: Step, { origin, ...message }: PageRequest): Promise<HttpReply> {
  const { state, customer } = step;
  const { kind } = message;
  const headers = { cookie: customer.cookie ?? '', ...(origin === undefined ? {} : { origin }) };
  const reply = await sendHttp(state, { ...message, headers });
  recordRequest(state, kind, reply, null);
  if (reply.status === 500) reportInternalError(state, customer.uuid, kind, reply);
  // A month may pass during a request.
  const hasSessionEnded = reply.status === 401 && reply.text.includes(SESSION_ENDED_DETAIL);
  if (typeof reply.status === 'number' && !EXPECTED_STATUSES.includes(reply.status) && !hasSessionEnded)
    reportViolation(step, 'expected-responses-only', kind, `${reply.status}: ${reply.text.slice(0, 200)}`);
  return reply;
}

/** Finds the CSRF token in the form of a page. */
export function findCsrfToken(page: string): string | undefined {
  return /name="csrf_token" value="([^"]+)"/.exec(page)?.[1];
}

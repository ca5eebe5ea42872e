import { SESSION_ENDED_DETAIL, SESSION_ENDED_MEANWHILE_DETAIL } from '../../../shared/domain/accounts/credentials.ts';
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
  if (!isExpectedPage(reply))
    reportViolation(step, 'expected-responses-only', kind, `${reply.status}: ${describePage(reply.text)}`);
  return reply;
}

/** Returns true for a page that may be the response. A month may pass before a request or during it, which ends the session. */
export function isExpectedPage({ status, text }: Pick<HttpReply, 'status' | 'text'>): boolean {
  if (typeof status !== 'number' || EXPECTED_STATUSES.includes(status)) return true;
  return status === 401 && SESSION_ENDED_DETAILS.some((detail) => text.includes(detail));
}

const SESSION_ENDED_DETAILS = [SESSION_ENDED_DETAIL, SESSION_ENDED_MEANWHILE_DETAIL];

/** Returns what an error page says, or the start of another page. */
function describePage(text: string): string {
  return /<p>([^<]+)/.exec(text)?.[1] ?? text.slice(0, 200);
}

/** Finds the CSRF token in the form of a page. */
export function findCsrfToken(page: string): string | undefined {
  return /name="csrf_token" value="([^"]+)"/.exec(page)?.[1];
}

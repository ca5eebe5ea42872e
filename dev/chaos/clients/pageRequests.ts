import { SESSION_ENDED_DETAIL, SESSION_ENDED_MEANWHILE_DETAIL } from '../../../shared/domain/accounts/credentials.ts';
import { report, type Step } from './clientState.ts';
import { encodeForm, type HttpReply, recordRequest, sendHttp } from './httpClient.ts';
import { discoverOrigin, signInCustomer } from './sessions.ts';

/** A request for a page, with the session cookie of the customer. */
interface PageRequest {
  kind: string;
  path: string;
  address: string;
  /** The service's own origin, which forms need. */
  origin?: string;
  form?: Record<string, string>;
}

/** Redirects to the sign-in and after a form, rejections of a form, of a suspended account, and outages. */
const EXPECTED_STATUSES = [200, 302, 303, 400, 403, 404, 500, 503];
const SESSION_ENDED_DETAILS = [SESSION_ENDED_DETAIL, SESSION_ENDED_MEANWHILE_DETAIL];

/** Requests a page, or sends a form. */
export async function sendPageRequest(
  step: Step,
  { kind, path, address, origin, form }: PageRequest,
): Promise<HttpReply> {
  const encoded: ReturnType<typeof encodeForm> = form === undefined ? {} : encodeForm(form);
  const headers = {
    ...encoded.headers,
    cookie: step.customer.cookie ?? '',
    ...(origin === undefined ? {} : { origin }),
  };
  const method = form === undefined ? 'GET' : 'POST';
  const reply = await sendHttp(step, { method, path, address, ...encoded, headers });
  recordRequest(step, kind, reply, null);
  if (!isExpectedPage(reply)) {
    const said = /<p>([^<]+)/.exec(reply.text)?.[1] ?? reply.text.slice(0, 200);
    report(step, 'expected-responses-only', kind, `${reply.status}: ${said}`);
  }
  return reply;
}

/**
 * Returns true for a page that may be the response. A month may pass before a request or during it, which ends the
 * session.
 */
export function isExpectedPage({ status, text }: Pick<HttpReply, 'status' | 'text'>): boolean {
  if (typeof status !== 'number' || EXPECTED_STATUSES.includes(status)) return true;
  return status === 401 && SESSION_ENDED_DETAILS.some((detail) => text.includes(detail));
}

/** Finds the CSRF token in the form of a page. */
export function findCsrfToken(page: string): string | undefined {
  return /name="csrf_token" value="([^"]+)"/.exec(page)?.[1];
}

/** Returns true for a redirect to the sign-in: the session has ended, as it does when a month passes. */
export const isSignedOut = ({ status }: HttpReply): boolean => status === 302 || status === 303;

/**
 * Opens a page and submits its form, which has the same address.
 * @param buildFields builds the fields from the page that contains the form.
 * @returns undefined if the form could not be opened, so that nothing was submitted.
 */
export async function submitPageForm(
  step: Step,
  kind: string,
  address: string,
  path: string,
  buildFields: (page: string) => Record<string, string> = () => ({}),
): Promise<HttpReply | undefined> {
  const origin = await discoverOrigin(step, address);
  const page = await sendPageRequest(step, { kind, path, address });
  if (isSignedOut(page)) await signInCustomer(step);
  const token = findCsrfToken(page.text);
  if (page.status !== 200 || token === undefined || origin === null) return undefined;
  const form = { csrf_token: token, ...buildFields(page.text) };
  const reply = await sendPageRequest(step, { kind, path, address, origin, form });
  // Too much time has passed since the sign-in.
  if (reply.headers.location?.includes('again=yes') === true) await signInCustomer(step);
  return reply;
}

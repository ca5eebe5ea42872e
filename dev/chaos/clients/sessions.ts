import { type Api, call, type Called, type CallOptions } from './api.ts';
import { report, type Step } from './clientState.ts';
import { parseJson, recordRequest, sendHttp } from './httpClient.ts';

/**
 * Signs in and stores the cookie.
 * @param cookie of the link of an affiliate.
 * @returns false if that failed.
 */
export async function signInCustomer(step: Step, cookie?: string): Promise<boolean> {
  const { state, customer } = step;
  const response = await signIn(step, 'sign in', customer.email, {
    headers: cookie === undefined ? {} : { cookie },
    // The account may be erased while the sign-in waits for it.
    expects: customer.isLeaving === true ? ['not_found'] : [],
  });
  if (!response.isGood) return false;
  const { uuid, email } = response.body.user as { uuid: string; email: string };
  if (customer.uuid !== null && customer.uuid !== uuid)
    report(step, 'created-exists', email, `was the account ${customer.uuid} and is ${uuid}`);
  customer.uuid = uuid;
  customer.cookie = readCookie(response.headers['set-cookie'], 'token');
  state.journal.accounts.set(uuid, email);
  return customer.cookie !== null;
}

export function signIn(step: Step, kind: string, email: string, options: CallOptions = {}) {
  const send = (api: Api) => api.send('POST /authentication/dev/sign-in/', { email });
  return call(step, kind, send, { ...options, key: null });
}

export function readCookie(lines: string | string[] | undefined, name: string): string | null {
  const cookies = [lines ?? []].flat().map((line) => line.split(';')[0] as string);
  return cookies.find((cookie) => cookie.startsWith(`${name}=`)) ?? null;
}

/** Calls the API with the session cookie, and signs in again if the session is over, or too old for the request. */
export async function callWithSession<Result>(
  step: Step,
  kind: string,
  send: (api: Api) => Promise<Result>,
  options: CallOptions = {},
): Promise<Called<Result>> {
  const { state, customer, random } = step;
  const address = random.pick(state.addresses);
  const headers = await buildSessionHeaders(step, customer.cookie, address);
  const expects = [...(options.expects ?? []), 'insufficient_scope' as const];
  const response = await call(step, kind, send, { key: null, address, headers, expects });
  if (response.status !== 401 && response.code !== 'insufficient_scope') return response;
  state.origins.delete(address);
  await signInCustomer(step);
  return { ...response, isUnknown: true };
}

/** Returns the headers of a request with a session. */
export async function buildSessionHeaders(step: Step, cookie: string | null, address: string) {
  const origin = await discoverOrigin(step, address);
  return { cookie: cookie ?? '', ...(origin === null ? {} : { origin }) };
}

/** Discovers the service's own origin, since requests go through a proxy. Null if the response does not contain it. */
export async function discoverOrigin(step: Step, address: string): Promise<string | null> {
  const { origins } = step.state;
  const known = origins.get(address);
  if (known !== undefined) return known;
  const reply = await sendHttp(step, { method: 'GET', path: '/.well-known/oauth-protected-resource', address });
  recordRequest(step, 'discover', reply, null);
  const resource: unknown = parseJson(reply.text)?.resource;
  if (typeof resource !== 'string') return null;
  const { origin } = new URL(resource);
  origins.set(address, origin);
  return origin;
}

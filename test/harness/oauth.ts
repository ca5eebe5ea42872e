import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { type Answer, type Customer, request } from './client.ts';

/** Where the answers of a client of the tests would go; nobody listens there. */
export const REDIRECT = 'http://127.0.0.1:9/callback';

export interface Pkce {
  verifier: string;
  challenge: string;
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** A form as OAuth wants it; a list of pairs may repeat a parameter. */
export function postForm(
  baseUrl: string,
  path: string,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
): Promise<Answer> {
  return request(baseUrl, 'POST', path, {
    rawBody: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

/** A client that speaks OAuth by hand, so that it can do everything wrong. */
export class OAuthClient {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;

  constructor(baseUrl: string, clientId: string, redirectUri = REDIRECT) {
    this.baseUrl = baseUrl;
    this.clientId = clientId;
    this.redirectUri = redirectUri;
  }

  via(baseUrl: string): OAuthClient {
    return new OAuthClient(baseUrl, this.clientId, this.redirectUri);
  }

  /** The address that a person is sent to, with changes; undefined leaves a parameter out. */
  authorizePath(challenge: string, changes: Record<string, string | undefined> = {}): string {
    const parameters = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'a state',
      ...changes,
    };
    const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
    return `/authorize?${new URLSearchParams(given).toString()}`;
  }

  /** Has a person allow it. @returns the parameters that the client is answered with. */
  async authorize(person: Customer, challenge: string, changes: Record<string, string | undefined> = {}) {
    const answer = await consent(this.baseUrl, person, this.authorizePath(challenge, changes));
    return new URL(locationOf(answer)).searchParams;
  }

  exchange(code: string, verifier: string, changes: Record<string, string> = {}): Promise<Answer> {
    return postForm(this.baseUrl, '/token', {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      ...changes,
    });
  }

  refresh(refreshToken: string, changes: Record<string, string> = {}): Promise<Answer> {
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: this.clientId };
    return postForm(this.baseUrl, '/token', { ...fields, ...changes });
  }

  /** The whole way. @returns what `/token` answered. */
  async connect(person: Customer, changes: Record<string, string | undefined> = {}): Promise<any> {
    const { verifier, challenge } = newPkce();
    const code = (await this.authorize(person, challenge, changes)).get('code') ?? '';
    const { status, body } = await this.exchange(code, verifier);
    if (status !== 200) throw new Error(`No tokens: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

/** Registers a client at the service. */
export async function registerClient(baseUrl: string, metadata: Record<string, unknown> = {}): Promise<OAuthClient> {
  const body = { client_name: `Client ${randomUUID().slice(0, 8)}`, redirect_uris: [REDIRECT], ...metadata };
  const answer = await request(baseUrl, 'POST', '/register', { body });
  if (answer.status !== 201) throw new Error(`Not registered: ${answer.status} ${JSON.stringify(answer.body)}`);
  return new OAuthClient(baseUrl, answer.body.client_id, body.redirect_uris[0]);
}

/** The token of the form on a consent page. */
export async function consentPage(
  baseUrl: string,
  person: Customer,
  path: string,
): Promise<Answer & { token: string }> {
  const page = await request(baseUrl, 'GET', path, { headers: { cookie: person.cookie } });
  const token = /name="form_token" value="([^"]+)"/.exec(String(page.body))?.[1] ?? '';
  return { ...page, token };
}

/** What a person does who agrees: loads the page, and sends its form. */
export async function consent(baseUrl: string, person: Customer, path: string, decision = 'allow'): Promise<Answer> {
  const page = await consentPage(baseUrl, person, path);
  if (page.status !== 200)
    throw new Error(`No consent page: ${page.status} ${page.headers.get('location')} ${page.body}`);
  const headers = { cookie: person.cookie, origin: new URL(baseUrl).origin };
  return postForm(baseUrl, path, { form_token: page.token, decision }, headers);
}

/** Where an answer sends the browser, as it is written. */
export function locationOf(answer: Pick<Answer, 'status' | 'headers' | 'body'>): string {
  const page = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(String(answer.body))?.[1];
  const location = answer.headers.get('location') ?? page?.replaceAll('&amp;', '&') ?? null;
  if (location === null) throw new Error(`No redirect: ${answer.status} ${JSON.stringify(answer.body)}`);
  return location;
}

/** The claims of a JWT, unchecked. */
export function claimsOf(token: string): any {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

/**
 * What a person does who is sent to an authorization address for the first time: signs in on the page that comes, is led
 * back, and allows it. @returns the address that the client is answered at.
 */
export async function signInAndAllow(baseUrl: string, address: URL): Promise<URL> {
  const path = address.pathname + address.search;
  const toSignIn = new URL(locationOf(await request(baseUrl, 'GET', path)), baseUrl);
  const returnTo = toSignIn.searchParams.get('return_to') ?? '';
  const fields = { email: `${randomUUID()}@example.com`, return_to: returnTo };
  const signedIn = await postForm(baseUrl, '/sign-in', fields, { origin: baseUrl });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const back = locationOf(signedIn);
  if (back !== path) throw new Error(`Led to ${back} instead of ${path}.`);
  return new URL(locationOf(await consent(baseUrl, { cookie } as Customer, back)));
}

/** What an MCP client keeps, in memory. */
export class MemoryProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: 'MCP test client',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  kept: Record<string, any> = {};
  sentTo: URL | undefined;

  state = () => 'the state';
  clientInformation = () => this.kept['client'];
  saveClientInformation = (value: unknown) => void (this.kept['client'] = value);
  tokens = () => this.kept['tokens'];
  saveTokens = (value: unknown) => void (this.kept['tokens'] = value);
  codeVerifier = () => this.kept['verifier'];
  saveCodeVerifier = (value: string) => void (this.kept['verifier'] = value);
  redirectToAuthorization = (address: URL) => void (this.sentTo = address);
  discoveryState = () => this.kept['discovery'];
  saveDiscoveryState = (value: unknown) => void (this.kept['discovery'] = value);
  invalidateCredentials = (scope: string) => {
    if (scope === 'all') this.kept = {};
    else delete this.kept[scope];
  };
}

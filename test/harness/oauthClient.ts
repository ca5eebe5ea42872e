import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { type ApiResponse, type TestCustomer, request } from './apiClient.ts';

/** Redirect URI of test clients; nothing listens there. */
export const REDIRECT_URI = 'http://127.0.0.1:9/callback';

export interface Pkce {
  verifier: string;
  challenge: string;
}

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Sends a form as OAuth requires it; a list of pairs may repeat a parameter. */
export function postUrlEncoded(
  baseUrl: string,
  path: string,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return request(baseUrl, 'POST', path, {
    rawBody: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

/** A minimal OAuth client that can also send invalid requests. */
export class OAuthTestClient {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;

  constructor(baseUrl: string, clientId: string, redirectUri = REDIRECT_URI) {
    this.baseUrl = baseUrl;
    this.clientId = clientId;
    this.redirectUri = redirectUri;
  }

  on(baseUrl: string): OAuthTestClient {
    return new OAuthTestClient(baseUrl, this.clientId, this.redirectUri);
  }

  /** Builds the authorization address, with changed parameters; undefined leaves one out. */
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

  /** Gives consent. @returns the parameters of the redirect to the client. */
  async authorize(customer: TestCustomer, challenge: string, changes: Record<string, string | undefined> = {}) {
    const response = await submitConsent(this.baseUrl, customer, this.authorizePath(challenge, changes));
    return new URL(getRedirectLocation(response)).searchParams;
  }

  exchangeCode(code: string, verifier: string, changes: Record<string, string> = {}): Promise<ApiResponse> {
    return postUrlEncoded(this.baseUrl, '/token', {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      ...changes,
    });
  }

  refresh(refreshToken: string, changes: Record<string, string> = {}): Promise<ApiResponse> {
    const fields = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: this.clientId };
    return postUrlEncoded(this.baseUrl, '/token', { ...fields, ...changes });
  }

  /** Runs the whole flow. @returns the response of `/token`. */
  async authorizeAndExchange(customer: TestCustomer, changes: Record<string, string | undefined> = {}): Promise<any> {
    const { verifier, challenge } = createPkce();
    const code = (await this.authorize(customer, challenge, changes)).get('code') ?? '';
    const { status, body } = await this.exchangeCode(code, verifier);
    if (status !== 200) throw new Error(`No tokens: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

/** Registers a client with the service. */
export async function registerClient(
  baseUrl: string,
  metadata: Record<string, unknown> = {},
): Promise<OAuthTestClient> {
  const body = { client_name: `Client ${randomUUID().slice(0, 8)}`, redirect_uris: [REDIRECT_URI], ...metadata };
  const response = await request(baseUrl, 'POST', '/register', { body });
  if (response.status !== 201) throw new Error(`Not registered: ${response.status} ${JSON.stringify(response.body)}`);
  return new OAuthTestClient(baseUrl, response.body.client_id, body.redirect_uris[0]);
}

/** Reads the CSRF token of the form on a consent page. */
export async function loadConsentPage(
  baseUrl: string,
  customer: TestCustomer,
  path: string,
): Promise<ApiResponse & { token: string }> {
  const page = await request(baseUrl, 'GET', path, { headers: { cookie: customer.cookie } });
  const token = /name="csrf_token" value="([^"]+)"/.exec(String(page.body))?.[1] ?? '';
  return { ...page, token };
}

/** Gives consent as a user does: loads the page, and submits its form. */
export async function submitConsent(
  baseUrl: string,
  customer: TestCustomer,
  path: string,
  decision = 'allow',
  fields: Record<string, string> = {},
): Promise<ApiResponse> {
  const page = await loadConsentPage(baseUrl, customer, path);
  if (page.status !== 200)
    throw new Error(`No consent page: ${page.status} ${page.headers.get('location')} ${page.body}`);
  const headers = { cookie: customer.cookie, origin: new URL(baseUrl).origin };
  return postUrlEncoded(baseUrl, path, { csrf_token: page.token, decision, ...fields }, headers);
}

/** The location of a redirect, unchanged. */
export function getRedirectLocation(response: Pick<ApiResponse, 'status' | 'headers' | 'body'>): string {
  const page = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(String(response.body))?.[1];
  const location = response.headers.get('location') ?? page?.replaceAll('&amp;', '&') ?? null;
  if (location === null) throw new Error(`No redirect: ${response.status} ${JSON.stringify(response.body)}`);
  return location;
}

/** The claims of a JWT, without verification. */
export function decodeClaims(token: string): any {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

/**
 * Completes an authorization for the first time as a user does: signs in on the page, follows the redirect, and gives
 * consent. @returns the redirect address of the client.
 */
export async function signInAndAllow(baseUrl: string, address: URL): Promise<URL> {
  const path = address.pathname + address.search;
  const toSignIn = new URL(getRedirectLocation(await request(baseUrl, 'GET', path)), baseUrl);
  const returnTo = toSignIn.searchParams.get('return_to') ?? '';
  const fields = { email: `${randomUUID()}@example.com`, return_to: returnTo };
  const signedIn = await postUrlEncoded(baseUrl, '/sign-in', fields, { origin: baseUrl });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const back = getRedirectLocation(signedIn);
  if (back !== path) throw new Error(`Led to ${back} instead of ${path}.`);
  return new URL(getRedirectLocation(await submitConsent(baseUrl, { cookie } as TestCustomer, back)));
}

/** The storage of an MCP client, in memory. */
export class MemoryOAuthProvider {
  readonly redirectUrl: string;
  stored: Record<string, any> = {};
  authorizationUrl: URL | undefined;

  constructor(redirectUrl = REDIRECT_URI) {
    this.redirectUrl = redirectUrl;
  }

  get clientMetadata() {
    return {
      client_name: 'MCP test client',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state = () => 'the state';
  clientInformation = () => this.stored['client'];
  saveClientInformation = (value: unknown) => void (this.stored['client'] = value);
  tokens = () => this.stored['tokens'];
  saveTokens = (value: unknown) => void (this.stored['tokens'] = value);
  codeVerifier = () => this.stored['verifier'];
  saveCodeVerifier = (value: string) => void (this.stored['verifier'] = value);
  redirectToAuthorization = (address: URL) => void (this.authorizationUrl = address);
  discoveryState = () => this.stored['discovery'];
  saveDiscoveryState = (value: unknown) => void (this.stored['discovery'] = value);
  invalidateCredentials = (scope: string) => {
    if (scope === 'all') this.stored = {};
    else delete this.stored[scope];
  };
}

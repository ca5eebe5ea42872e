import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpFake } from '../httpFake.ts';
import { type Misbehaviour, misbehave, readTextBody, sendJson } from '../misbehave.ts';
import type { FakePerson } from './person.ts';

interface GitHubAddress {
  email: string;
  primary: boolean;
  verified: boolean;
}

interface Grant {
  person: FakePerson;
  addresses: GitHubAddress[];
  challenge: string;
  redirectUri: string;
}

/** Fake of the GitHub pages and API that a sign-in needs. It requires PKCE, a state and the scopes. */
export class FakeGitHub extends HttpFake {
  readonly clientId = 'Iv1.0123456789abcdef';
  readonly clientSecret = 'github-secret';
  person: FakePerson | undefined;
  behavior: 'sign in' | 'refuse' = 'sign in';
  /** Replaces the one address of the person. */
  addresses: GitHubAddress[] | undefined;
  /** Misbehaviour by path. */
  readonly misbehaviour = new Map<string, Misbehaviour>();

  private readonly codes = new Map<string, Grant>();
  private readonly tokens = new Map<string, Grant>();

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    if (misbehave(this.misbehaviour.get(pathname), request, response)) return;
    if (pathname === '/login/oauth/authorize') return this.authorize(searchParams, response);
    const body = new URLSearchParams(await readTextBody(request));
    if (pathname === '/login/oauth/access_token') return this.exchangeCode(body, response);
    const grant = this.tokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
    if (grant === undefined || request.headers['user-agent'] === undefined) {
      return sendJson(response, 401, { message: 'Bad credentials' });
    }
    if (pathname === '/api/v3/user') {
      const { subject, firstName } = grant.person;
      return sendJson(response, 200, { id: toNumericId(subject), login: 'octocat', name: `${firstName} Lovelace` });
    }
    if (pathname === '/api/v3/user/emails') return sendJson(response, 200, grant.addresses);
    sendJson(response, 404, { message: 'Not Found' });
  }

  private authorize(parameters: URLSearchParams, response: ServerResponse): void {
    const { client_id, redirect_uri, state, scope, code_challenge, code_challenge_method } =
      Object.fromEntries(parameters);
    const isSound =
      client_id === this.clientId &&
      redirect_uri !== undefined &&
      state !== undefined &&
      scope === 'read:user user:email' &&
      code_challenge !== undefined &&
      code_challenge_method === 'S256';
    const { person } = this;
    if (!isSound || person === undefined) return sendJson(response, 400, { error: 'not a sound request' });
    const back = new URL(redirect_uri);
    back.searchParams.set('state', state);
    if (this.behavior === 'refuse') back.searchParams.set('error', 'access_denied');
    else {
      const code = randomUUID();
      const addresses = this.addresses ?? [{ email: person.email, primary: true, verified: person.isVerified }];
      this.codes.set(code, { person, addresses, challenge: code_challenge, redirectUri: redirect_uri });
      back.searchParams.set('code', code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  private exchangeCode(body: URLSearchParams, response: ServerResponse): void {
    const { client_id, client_secret, code = '', code_verifier = '', redirect_uri } = Object.fromEntries(body);
    const grant = this.codes.get(code);
    this.codes.delete(code);
    const isSound =
      client_id === this.clientId &&
      client_secret === this.clientSecret &&
      grant?.redirectUri === redirect_uri &&
      grant?.challenge === createHash('sha256').update(code_verifier).digest('base64url');
    // GitHub reports errors with status 200.
    if (grant === undefined || !isSound) return sendJson(response, 200, { error: 'bad_verification_code' });
    const token = `gho_${randomUUID()}`;
    this.tokens.set(token, grant);
    sendJson(response, 200, { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' });
  }
}

/** GitHub's subjects are numbers. */
function toNumericId(subject: string): number {
  return createHash('sha256').update(subject).digest().readUIntBE(0, 6);
}

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type Koa from 'koa';
import Provider, { type Configuration } from 'oidc-provider';
import { HttpFake } from '../httpFake.ts';
import { type Misbehaviour, misbehave } from '../misbehave.ts';
import type { FakePerson } from './person.ts';

type Client = NonNullable<Configuration['clients']>[number];
/** Path prefixes that can misbehave. */
type MisbehavingPath = '/.well-known' | '/token' | '/jwks' | '/me';

/** Response of the token endpoint. */
export interface TokenResponse {
  id_token: string;
}

/**
 * Fake of Google or Apple: a real OpenID provider with configurable people, sign-in behavior and errors. It requires
 * PKCE.
 */
export class FakeOpenIdProvider extends HttpFake {
  /** Person who signs in. */
  person: FakePerson | undefined;
  /** Decision of the person. `be asked` shows a page of the provider. */
  behavior: 'sign in' | 'refuse' | 'be asked' = 'sign in';
  /** True to return claims only from the user info endpoint, as some providers do. */
  conformsIdTokenClaims = false;
  readonly misbehaviour = new Map<MisbehavingPath, Misbehaviour>();
  /** Changes responses of the token endpoint. */
  onToken: (answer: TokenResponse) => Promise<TokenResponse> | TokenResponse = (answer) => answer;
  /** Changes pages of the provider, such as the form that posts to the callback. */
  onPage: (html: string) => string = (html) => html;
  /** Parameters of all authorization requests. */
  readonly authorizationRequests: URLSearchParams[] = [];
  /** Paths of all requests. */
  readonly requests: string[] = [];

  private readonly people = new Map<string, FakePerson>();
  private key: CryptoKey | undefined;
  private listener: (...request: Parameters<RequestListener>) => unknown = (_request, response) =>
    response.writeHead(503).end();

  protected handle(request: IncomingMessage, response: ServerResponse): unknown {
    const path = new URL(request.url ?? '/', this.url).pathname;
    this.requests.push(path);
    for (const [part, how] of this.misbehaviour) {
      if (path.startsWith(part) && misbehave(how, request, response)) return;
    }
    return this.listener(request, response);
  }

  /** Starts serving a client, whose URL is known only after it has started. */
  async serve(client: Client, changes: (provider: Provider) => void = () => {}): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    this.key = privateKey;
    const provider = new Provider(this.url, {
      clients: [client],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'fake', alg: 'RS256', use: 'sig' }] },
      scopes: ['openid', 'email', 'profile', 'name'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['given_name', 'name'] },
      conformIdTokenClaims: this.conformsIdTokenClaims,
      pkce: { required: () => true },
      cookies: { keys: ['a key of the tests'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
      findAccount: (_ctx, subject) => {
        const person = this.people.get(subject);
        return person && { accountId: subject, claims: () => buildClaims(person) };
      },
      // Skips the consent of the provider, which is not under test.
      loadExistingGrant: async ({ oidc: { session, client } }) => {
        const clientId = client?.clientId as string;
        const given = session?.grantIdFor(clientId);
        const found = given === undefined ? undefined : await provider.Grant.find(given);
        if (found !== undefined) return found;
        const grant = new provider.Grant({ accountId: session?.accountId as string, clientId });
        grant.addOIDCScope('openid email profile name');
        await grant.save();
        return grant;
      },
    } satisfies Configuration);
    changes(provider);
    provider.use(async (ctx, next) => {
      if (ctx.path === '/auth') this.authorizationRequests.push(new URLSearchParams(ctx.querystring));
      if (ctx.path.startsWith('/interaction/')) return this.interact(provider, ctx);
      await next();
      if (ctx.path === '/token' && ctx.status === 200) ctx.body = await this.onToken(ctx.body as TokenResponse);
      if (ctx.type === 'text/html' && typeof ctx.body === 'string') ctx.body = this.onPage(ctx.body);
    });
    this.listener = provider.callback();
  }

  /** Signs an ID token with the key of the provider. */
  sign(claims: JWTPayload): Promise<string> {
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'fake' });
    return token.sign(this.key as CryptoKey);
  }

  private async interact(provider: Provider, ctx: Koa.Context): Promise<void> {
    const { person } = this;
    if (person === undefined) throw new Error('No person is configured to sign in.');
    const behavior = this.behavior === 'be asked' ? ctx.query['does'] : this.behavior;
    if (behavior === undefined) {
      ctx.type = 'html';
      ctx.body = `<!doctype html><title>The provider</title><h1>Sign in as ${person.email}?</h1>
        <a id="yes" href="${ctx.path}?does=sign+in">Sign in</a> <a id="no" href="${ctx.path}?does=refuse">Refuse</a>`;
      return;
    }
    this.people.set(person.subject, person);
    const result =
      behavior === 'refuse'
        ? { error: 'access_denied', error_description: 'The person refused.' }
        : { login: { accountId: person.subject, remember: false } };
    const location = await provider.interactionResult(ctx.req, ctx.res, result);
    ctx.status = 303;
    ctx.redirect(location);
  }
}

function buildClaims({ subject, email, isVerified, firstName }: FakePerson) {
  return { sub: subject, email, email_verified: isVerified, given_name: firstName, name: `${firstName} Lovelace` };
}

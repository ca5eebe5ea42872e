import type { RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type Koa from 'koa';
import Provider, { type Configuration } from 'oidc-provider';
import { type Misbehaviour, misbehave } from '../misbehave.ts';
import { startHttpServer } from './httpServer.ts';
import type { FakePerson } from './person.ts';

type Client = NonNullable<Configuration['clients']>[number];
/** What of it can be told to misbehave. */
type MisbehavingPath = '/.well-known' | '/token' | '/jwks' | '/me';

/** What comes from the token endpoint. */
export interface TokenResponse {
  id_token: string;
}

/**
 * A real OpenID provider in the place of Google's or Apple's: it knows whom it is told to know, signs them in without
 * asking or as it is told, and misbehaves on demand. It insists on PKCE.
 */
export class FakeOpenIdProvider {
  url = '';
  /** Who comes to sign in. */
  person: FakePerson | undefined;
  /** What the person does; on a page of the provider's they are asked. */
  behavior: 'sign in' | 'refuse' | 'be asked' = 'sign in';
  /** Whether claims are told only when they are asked for, as some providers do. */
  conformsIdTokenClaims = false;
  readonly misbehaviour = new Map<MisbehavingPath, Misbehaviour>();
  /** Changes what the token endpoint answers. */
  onToken: (answer: TokenResponse) => Promise<TokenResponse> | TokenResponse = (answer) => answer;
  /** Changes a page of the provider's, such as the form that brings its answer back. */
  onPage: (html: string) => string = (html) => html;
  /** The parameters of every request for authorization. */
  readonly authorizationRequests: URLSearchParams[] = [];
  /** The path of every request. */
  readonly requests: string[] = [];

  private readonly people = new Map<string, FakePerson>();
  private key: CryptoKey | undefined;
  private handle: (...request: Parameters<RequestListener>) => unknown = (_request, response) =>
    response.writeHead(503).end();
  private stopServer: () => Promise<void> = async () => {};

  async start(): Promise<this> {
    const { url, stop } = await startHttpServer((request, response) => {
      const path = new URL(request.url ?? '/', this.url).pathname;
      this.requests.push(path);
      for (const [part, how] of this.misbehaviour) {
        if (path.startsWith(part) && misbehave(how, request, response)) return;
      }
      this.handle(request, response);
    });
    this.url = url;
    this.stopServer = stop;
    return this;
  }

  stop(): Promise<void> {
    return this.stopServer();
  }

  /** Takes up its service for a client, whose address is known only once it has been started. */
  async serve(client: Client, changes: (provider: Provider) => void = () => {}): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    this.key = privateKey;
    const provider = new Provider(this.url, {
      clients: [client],
      jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'stand-in', alg: 'RS256', use: 'sig' }] },
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
      // Nobody is asked for consent: that is no affair of ours.
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
    this.handle = provider.callback();
  }

  /** An ID token as the provider itself signs them. */
  sign(claims: JWTPayload): Promise<string> {
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'stand-in' });
    return token.sign(this.key as CryptoKey);
  }

  private async interact(provider: Provider, ctx: Koa.Context): Promise<void> {
    const { person } = this;
    if (person === undefined) throw new Error('Nobody has come to sign in.');
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

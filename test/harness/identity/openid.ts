import type { RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type Koa from 'koa';
import Provider, { type Configuration } from 'oidc-provider';
import { type Misbehaviour, misbehave } from '../../../dev/standins/misbehave.ts';
import { listening } from './listening.ts';
import type { Person } from './person.ts';

type Client = NonNullable<Configuration['clients']>[number];
/** What of it can be told to misbehave. */
type Part = '/.well-known' | '/token' | '/jwks' | '/me';

/** What comes from the token endpoint. */
export interface TokenAnswer {
  id_token: string;
}

/**
 * A real OpenID provider in the place of Google's or Apple's: it knows whom it is told to know, signs them in without
 * asking or as it is told, and misbehaves on demand. It insists on PKCE.
 */
export class StandInOpenId {
  url = '';
  /** Who comes to sign in. */
  person: Person | undefined;
  /** What the person does; on a page of the provider's they are asked. */
  does: 'sign in' | 'refuse' | 'be asked' = 'sign in';
  /** Whether claims are told only when they are asked for, as some providers do. */
  isTacit = false;
  readonly misbehaviour = new Map<Part, Misbehaviour>();
  /** Changes what the token endpoint answers. */
  onToken: (answer: TokenAnswer) => Promise<TokenAnswer> | TokenAnswer = (answer) => answer;
  /** Changes a page of the provider's, such as the form that brings its answer back. */
  onPage: (html: string) => string = (html) => html;
  /** The parameters of every request for authorization. */
  readonly asked: URLSearchParams[] = [];
  /** The path of every request. */
  readonly requests: string[] = [];

  private readonly people = new Map<string, Person>();
  private key: CryptoKey | undefined;
  private handle: (...request: Parameters<RequestListener>) => unknown = (_request, response) =>
    response.writeHead(503).end();
  private halt: () => Promise<void> = async () => {};

  async start(): Promise<this> {
    const { url, stop } = await listening((request, response) => {
      const path = new URL(request.url ?? '/', this.url).pathname;
      this.requests.push(path);
      for (const [part, how] of this.misbehaviour) {
        if (path.startsWith(part) && misbehave(how, request, response)) return;
      }
      this.handle(request, response);
    });
    this.url = url;
    this.halt = stop;
    return this;
  }

  stop(): Promise<void> {
    return this.halt();
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
      conformIdTokenClaims: this.isTacit,
      pkce: { required: () => true },
      cookies: { keys: ['a key of the tests'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
      findAccount: (_ctx, subject) => {
        const person = this.people.get(subject);
        return person && { accountId: subject, claims: () => claimsOf(person) };
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
      if (ctx.path === '/auth') this.asked.push(new URLSearchParams(ctx.querystring));
      if (ctx.path.startsWith('/interaction/')) return this.interact(provider, ctx);
      await next();
      if (ctx.path === '/token' && ctx.status === 200) ctx.body = await this.onToken(ctx.body as TokenAnswer);
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
    const does = this.does === 'be asked' ? ctx.query['does'] : this.does;
    if (does === undefined) {
      ctx.type = 'html';
      ctx.body = `<!doctype html><title>The provider</title><h1>Sign in as ${person.email}?</h1>
        <a id="yes" href="${ctx.path}?does=sign+in">Sign in</a> <a id="no" href="${ctx.path}?does=refuse">Refuse</a>`;
      return;
    }
    this.people.set(person.subject, person);
    const result =
      does === 'refuse'
        ? { error: 'access_denied', error_description: 'The person refused.' }
        : { login: { accountId: person.subject, remember: false } };
    const location = await provider.interactionResult(ctx.req, ctx.res, result);
    ctx.status = 303;
    ctx.redirect(location);
  }
}

function claimsOf({ subject, email, isVerified, firstName }: Person) {
  return { sub: subject, email, email_verified: isVerified, given_name: firstName, name: `${firstName} Lovelace` };
}

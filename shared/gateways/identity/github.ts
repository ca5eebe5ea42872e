import { createHash } from 'node:crypto';
import { ask } from './http.ts';
import { firstWordOf } from './openid.ts';
import { faultOfAnswer, IdentityError, type IdentityProvider, type ProviderIdentity } from './provider.ts';

export interface GitHubSettings {
  /** Of its pages and of its API, without a slash at the end. */
  baseUrl: string;
  apiBaseUrl: string;
  clientId: string;
  clientSecret: string;
}

/** GitHub speaks plain OAuth: who it is, and at which address, is asked of its API. */
export function gitHubProvider(settings: GitHubSettings): IdentityProvider {
  return {
    begin: async ({ state, verifier }, redirectUri) => {
      const address = new URL(`${settings.baseUrl}/login/oauth/authorize`);
      address.search = new URLSearchParams({
        client_id: settings.clientId,
        redirect_uri: redirectUri,
        scope: 'read:user user:email',
        state,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        prompt: 'select_account',
      }).toString();
      return address.href;
    },

    complete: async (parameters, { verifier }, redirectUri) => {
      const error = parameters.get('error');
      if (error !== null) throw new IdentityError(faultOfAnswer(error), `it answered ${error.slice(0, 100)}`);
      const code = parameters.get('code');
      if (code === null) throw new IdentityError('refused', 'it answered without a code');
      const token = await tokenFor(settings, { code, code_verifier: verifier, redirect_uri: redirectUri });
      const [user, emails] = await Promise.all([read(settings, '/user', token), read(settings, '/user/emails', token)]);
      return identityFrom(user, emails);
    },
  };
}

async function tokenFor(
  { baseUrl, clientId, clientSecret }: GitHubSettings,
  grant: Record<string, string>,
): Promise<string> {
  const answer = await json(`${baseUrl}/login/oauth/access_token`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...grant }),
  });
  // A refusal comes with the status 200.
  const { access_token: token, error } = answer as { access_token?: unknown; error?: unknown };
  if (typeof token === 'string' && token !== '') return token;
  if (typeof error === 'string') throw new IdentityError('refused', `it answered ${error.slice(0, 100)}`);
  throw new IdentityError('away', 'it answered without a token');
}

function read({ apiBaseUrl }: GitHubSettings, path: string, token: string): Promise<unknown> {
  return json(`${apiBaseUrl}${path}`, {
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      // Whoever does not say is turned away.
      'user-agent': 'genmeter',
    },
  });
}

async function json(url: string, options: RequestInit): Promise<unknown> {
  try {
    const response = await ask(url, options);
    if (response.status !== 200) throw new Error(`${new URL(url).pathname} answered ${response.status}`);
    const answer = (await response.json()) as unknown;
    if (typeof answer !== 'object' || answer === null) throw new Error('what it answered makes no sense');
    return answer;
  } catch (error) {
    throw new IdentityError('away', (error as Error).message, { cause: error });
  }
}

function identityFrom(user: unknown, emails: unknown): ProviderIdentity {
  const { id, name } = user as { id?: unknown; name?: unknown };
  if (!Number.isSafeInteger(id)) throw new IdentityError('away', 'it did not say who it is');
  const addresses = (Array.isArray(emails) ? emails : []) as {
    email?: unknown;
    primary?: unknown;
    verified?: unknown;
  }[];
  const primary = addresses.find((address) => address?.primary === true);
  return {
    // The number, not the name: names are given up and taken by others.
    subject: String(id),
    email: typeof primary?.email === 'string' ? primary.email : null,
    isEmailVerified: primary?.verified === true,
    firstName: typeof name === 'string' ? firstWordOf(name) : '',
  };
}

import { fetchBounded } from './boundedFetch.ts';
import { getFirstWord } from './openIdConnect.ts';
import { toIdentityFault, IdentityError, type IdentityProvider, type ProviderIdentity } from './identityProvider.ts';
import { sha256 } from '../../lib/secrets.ts';

export interface GitHubSettings {
  /** URLs of the site and of its API, without a trailing slash. */
  baseUrl: string;
  apiBaseUrl: string;
  clientId: string;
  clientSecret: string;
}

/** Creates the GitHub provider. GitHub supports only OAuth, so the user and the addresses are fetched from its API. */
export function gitHubProvider(settings: GitHubSettings): IdentityProvider {
  return {
    createAuthorizationUrl: async ({ state, codeVerifier }, redirectUri) => {
      const address = new URL(`${settings.baseUrl}/login/oauth/authorize`);
      address.search = new URLSearchParams({
        client_id: settings.clientId,
        redirect_uri: redirectUri,
        scope: 'read:user user:email',
        state,
        code_challenge: sha256(codeVerifier).toString('base64url'),
        code_challenge_method: 'S256',
        prompt: 'select_account',
      }).toString();
      return address.href;
    },

    completeSignIn: async (parameters, { codeVerifier }, redirectUri) => {
      const error = parameters.get('error');
      if (error !== null)
        throw new IdentityError(toIdentityFault(error), `the provider returned ${error.slice(0, 100)}`);
      const code = parameters.get('code');
      if (code === null) throw new IdentityError('rejected', 'the provider returned no code');
      const token = await requestAccessToken(settings, {
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
      });
      const [user, emails] = await Promise.all([
        fetchGitHubApi(settings, '/user', token),
        fetchGitHubApi(settings, '/user/emails', token),
      ]);
      return toGitHubIdentity(user, emails);
    },
  };
}

async function requestAccessToken(
  { baseUrl, clientId, clientSecret }: GitHubSettings,
  grant: Record<string, string>,
): Promise<string> {
  const body = await fetchGitHubJson(`${baseUrl}/login/oauth/access_token`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...grant }),
  });
  // GitHub reports errors with status 200.
  const { access_token: token, error } = body as { access_token?: unknown; error?: unknown };
  if (typeof token === 'string' && token !== '') return token;
  if (typeof error === 'string') throw new IdentityError('rejected', `the provider returned ${error.slice(0, 100)}`);
  throw new IdentityError('unavailable', 'the provider returned no token');
}

function fetchGitHubApi({ apiBaseUrl }: GitHubSettings, path: string, token: string): Promise<unknown> {
  return fetchGitHubJson(`${apiBaseUrl}${path}`, {
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      // GitHub rejects requests without this header.
      'user-agent': 'genmeter',
    },
  });
}

async function fetchGitHubJson(url: string, options: RequestInit): Promise<unknown> {
  try {
    const response = await fetchBounded(url, options);
    if (response.status !== 200) throw new Error(`${new URL(url).pathname} returned status ${response.status}`);
    const body = (await response.json()) as unknown;
    if (typeof body !== 'object' || body === null) throw new Error('the response is not a JSON object');
    return body;
  } catch (error) {
    throw new IdentityError('unavailable', (error as Error).message, { cause: error });
  }
}

function toGitHubIdentity(user: unknown, emails: unknown): ProviderIdentity {
  const { id, name } = user as { id?: unknown; name?: unknown };
  if (!Number.isSafeInteger(id)) throw new IdentityError('unavailable', 'the user has no numeric id');
  const addresses = (Array.isArray(emails) ? emails : []) as {
    email?: unknown;
    primary?: unknown;
    verified?: unknown;
  }[];
  const primary = addresses.find((address) => address?.primary === true);
  return {
    // The id, because user names can be released and taken by others.
    subject: String(id),
    email: typeof primary?.email === 'string' ? primary.email : null,
    isEmailVerified: primary?.verified === true,
    firstName: typeof name === 'string' ? getFirstWord(name) : '',
  };
}

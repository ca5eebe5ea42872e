import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider';
import { serveParent } from '../childProcess.ts';

/**
 * oidc-provider configured like our token endpoint: codes with PKCE for RS256 access tokens and rotating refresh
 * tokens. All of its state is in a Map of this process.
 */
const RESOURCE = 'http://127.0.0.1/mcp';
const CLIENT = 'bench';
const REDIRECT = 'http://127.0.0.1:9/callback';
const SCOPE = 'svc:read svc:write';

const storedPayloads = new Map<string, AdapterPayload>();

const doNothing = async (): Promise<undefined> => {};

function createAdapter(model: string): Adapter {
  const toKey = (id: string) => `${model}:${id}`;
  return {
    upsert: async (id, payload) => void storedPayloads.set(toKey(id), payload),
    find: async (id) => storedPayloads.get(toKey(id)),
    consume: async (id) => {
      const payload = storedPayloads.get(toKey(id));
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1_000);
    },
    destroy: async (id) => void storedPayloads.delete(toKey(id)),
    findByUserCode: doNothing,
    findByUid: doNothing,
    revokeByGrantId: doNothing,
  };
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });

const provider = new Provider('http://127.0.0.1', {
  adapter: createAdapter,
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'bench' }] },
  clients: [
    {
      client_id: CLIENT,
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ],
  scopes: SCOPE.split(' '),
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: SCOPE,
        audience: RESOURCE,
        accessTokenTTL: 3_600,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
  issueRefreshToken: () => true,
  rotateRefreshToken: () => true,
  findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  ttl: { AuthorizationCode: 86_400, RefreshToken: 86_400, Grant: 86_400, AccessToken: 3_600 },
});

/** Issues this many codes or refresh tokens, as if users had given consent, each from a grant of its own. */
async function createSecrets(kind: 'code' | 'refresh', count: number, challenge: string): Promise<string[]> {
  const made: string[] = [];
  const client = (await provider.Client.find(CLIENT))!;
  for (let index = 0; index < count; index += 1) {
    const accountId = `account-${index % 1_000}`;
    const grant = new provider.Grant({ accountId, clientId: CLIENT });
    grant.addResourceScope(RESOURCE, SCOPE);
    const grantId = await grant.save();
    const common = { client, accountId, grantId, scope: SCOPE, gty: 'authorization_code', resource: RESOURCE };
    const proof = { redirectUri: REDIRECT, codeChallenge: challenge, codeChallengeMethod: 'S256' };
    const token =
      kind === 'code'
        ? new provider.AuthorizationCode({ ...common, ...proof })
        : new provider.RefreshToken({ ...common, rotations: 0 });
    made.push(await token.save());
  }
  return made;
}

const server = provider.listen(0, '127.0.0.1');
await once(server, 'listening');

const handlers = { port: () => (server.address() as AddressInfo).port, make: createSecrets };
export type OidcProvider = typeof handlers;

serveParent(handlers);

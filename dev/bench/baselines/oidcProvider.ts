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

class MapAdapter implements Adapter {
  readonly model: string;

  constructor(model: string) {
    this.model = model;
  }

  private key(id: string): string {
    return `${this.model}:${id}`;
  }

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    storedPayloads.set(this.key(id), payload);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return storedPayloads.get(this.key(id));
  }

  async findByUserCode(): Promise<undefined> {}

  async findByUid(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const payload = storedPayloads.get(this.key(id));
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1_000);
  }

  async destroy(id: string): Promise<void> {
    storedPayloads.delete(this.key(id));
  }

  async revokeByGrantId(): Promise<void> {}
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });

const provider = new Provider('http://127.0.0.1', {
  adapter: MapAdapter,
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
    const grant = new provider.Grant({ accountId: `account-${index % 1_000}`, clientId: CLIENT });
    grant.addResourceScope(RESOURCE, SCOPE);
    const common = { client, accountId: `account-${index % 1_000}`, grantId: await grant.save(), scope: SCOPE };
    const token =
      kind === 'code'
        ? new provider.AuthorizationCode({
            ...common,
            gty: 'authorization_code',
            redirectUri: REDIRECT,
            codeChallenge: challenge,
            codeChallengeMethod: 'S256',
            resource: RESOURCE,
          })
        : new provider.RefreshToken({
            ...common,
            gty: 'authorization_code',
            resource: RESOURCE,
            rotations: 0,
          });
    made.push(await token.save());
  }
  return made;
}

const server = provider.listen(0, '127.0.0.1');
await once(server, 'listening');

serveParent({ port: () => (server.address() as AddressInfo).port, make: createSecrets, client: () => CLIENT });

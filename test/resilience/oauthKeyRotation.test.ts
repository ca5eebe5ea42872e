import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { runBundled } from '../harness/builtPrograms.ts';
import { type TestCustomer, request } from '../harness/apiClient.ts';
import { createDatabase } from '../harness/databases.ts';
import { type OAuthTestClient, postUrlEncoded, registerClient } from '../harness/oauthClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';

/** Longer than the service's limit between two reads for unknown keys. */
const KEY_REFETCH_INTERVAL_MS = 2_100;

const rotate = async (env: Record<string, string>) => (await runBundled('rotateKeys', [], { env })).status;

describe('OAuth signing keys', () => {
  const service = useTestService({ apis: 0, workers: 0 });
  let client: OAuthTestClient;
  let customer: TestCustomer;
  before(async () => {
    // A first start: no key exists.
    await service.sql('DELETE FROM oauth_signing_keys');
    await Promise.all(Array.from({ length: 3 }, () => service.startApi()));
    client = await registerClient(service.baseUrl);
    customer = await service.createCustomer(null);
  });

  const jwks = async (baseUrl = service.baseUrl): Promise<JSONWebKeySet> =>
    (await request(baseUrl, 'GET', '/jwks.json')).body;
  const kids = async (baseUrl?: string) => (await jwks(baseUrl)).keys.map(({ kid }) => kid);

  it('one key is created at the first start of several processes', async () => {
    const [{ count }] = (await service.sql('SELECT count(*)::int AS count FROM oauth_signing_keys')) as any;
    expect(count).to.equal(1);
    const all = await Promise.all(service.baseUrls.map((baseUrl) => kids(baseUrl)));
    expect(new Set(all.flat()).size).to.equal(1);
  });

  it('published keys contain no private parts and verify issued tokens', async () => {
    const set = await jwks();
    for (const key of set.keys) expect(Object.keys(key)).to.have.members(['kty', 'n', 'e', 'kid', 'alg', 'use']);
    const { access_token: token } = await client.authorizeAndExchange(customer);
    const { payload } = await jwtVerify(token, createLocalJWKSet(set), {
      issuer: service.baseUrl,
      audience: `${service.baseUrl}/mcp`,
      typ: 'at+jwt',
      algorithms: ['RS256'],
    });
    expect(payload['client_id']).to.equal(client.clientId);
  });

  it('rotation keeps issued tokens valid: the new key is published before it signs, the old key until its tokens expire', async () => {
    const before = await client.authorizeAndExchange(customer);
    const [oldKid] = await kids();
    expect(await rotate(service.env)).to.equal(0);

    // A process that has just started publishes both keys, and signs with the old one for ten more minutes.
    const early = await service.startApi({ BASE_URL: service.baseUrl });
    const published = await kids(early.baseUrl);
    expect(published).to.have.length(2).and.include(oldKid);
    const still = (await client.on(early.baseUrl).refresh(before.refresh_token)).body;
    expect(decodeProtectedHeader(still.access_token).kid).to.equal(oldKid);

    // Eleven minutes later it signs with the new key, and tokens of both are valid.
    const later = await service.startApi({ BASE_URL: service.baseUrl }, 11 * 60_000);
    const renewed = (await client.on(later.baseUrl).refresh(still.refresh_token)).body;
    const newKid = decodeProtectedHeader(renewed.access_token).kid;
    expect(newKid).to.equal(published.find((kid) => kid !== oldKid));
    const set = createLocalJWKSet(await jwks(later.baseUrl));
    for (const { access_token: token } of [before, still, renewed]) await jwtVerify(token, set);

    // A process that has not loaded the new key yet reads it when a token names it, at most every two seconds.
    await delay(KEY_REFETCH_INTERVAL_MS);
    const revoked = await postUrlEncoded(service.baseUrl, '/revoke', {
      token: renewed.access_token,
      client_id: client.clientId,
    });
    expect(revoked.status).to.equal(200);
    expect((await client.refresh(renewed.refresh_token)).body.error).to.equal('invalid_grant');

    // The old key is deleted when all of its tokens have expired.
    const day = 86_400_000;
    const muchLater = await service.startApi({ BASE_URL: service.baseUrl }, day);
    expect(await kids(muchLater.baseUrl)).to.deep.equal([newKid]);
    await service.startWorker({}, day);
    await eventually('the retired key is deleted', async () => {
      const rows = await service.sql('SELECT kid FROM oauth_signing_keys');
      return rows.length === 1 && rows[0].kid === newKid;
    });
  });

  it('rotation exits with status 1 when the database has no tables', async () => {
    expect(await rotate({ ...service.env, DATABASE_URL: await createDatabase({ empty: true }) })).to.equal(1);
  });
});

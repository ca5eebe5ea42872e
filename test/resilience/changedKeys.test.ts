import { expect } from 'chai';
import { type ApiResponse, IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { getAccountId } from '../harness/outbox.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

describe('a request that waits for the account while its API key is changed', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ apis: 2, workers: 0 });
    await setAllModelsOnline(service);
  });
  afterEach(() => service.checkIntegrity());
  after(() => service.stop());

  interface Key {
    uuid: string;
    owner: TestCustomer;
    /** The owner with this key, at a process that has seen it valid. */
    customer: TestCustomer;
  }

  async function createKey(): Promise<Key> {
    const owner = await service.createCustomer('studio');
    const { uuid, customer: created } = await createRestrictedKey(service, owner, {});
    const customer = created.on(service.baseUrls[1] as string);
    await customer.createImage();
    return { uuid, owner, customer };
  }

  /** Locks the account, lets the requests wait for it in their order, and releases it. */
  async function sendInOrder({ owner }: Key, ...requests: (() => Promise<ApiResponse>)[]): Promise<ApiResponse[]> {
    const responses: Promise<ApiResponse>[] = [];
    await whileAccountIsLocked(service, await getAccountId(service, owner), async () => {
      for (const send of requests) await waitForLockWaits(service, responses.push(send()));
    });
    return Promise.all(responses);
  }

  const readGenerationCount = async ({ owner }: Key): Promise<number> =>
    (await owner.request('GET', '/api/generations/')).body.pagination?.total_items ?? NaN;

  it('creates nothing after its key was revoked', async () => {
    const key = await createKey();
    const [revoked, created] = await sendInOrder(
      key,
      () => key.owner.requestWithSession('POST', `/api/keys/${key.uuid}/revoke/`),
      () => key.customer.createGeneration(IMAGE),
    );
    expect(revoked?.status).to.equal(200);
    expectError(created as ApiResponse, 'invalid_api_key');
    expect(await readGenerationCount(key)).to.equal(1);
    expect(await key.owner.balance()).to.equal(3_000 - 8);
  });

  it('creates with the changed options of its key', async () => {
    const key = await createKey();
    const change = (body: object) => () => key.owner.requestWithSession('PATCH', `/api/keys/${key.uuid}/`, { body });
    const create = () => key.customer.createGeneration(IMAGE);
    const [renamed, created] = await sendInOrder(key, change({ name: 'renamed' }), create);
    expect([renamed?.status, created?.status]).to.deep.equal([200, 201]);
    const [restricted, rejected] = await sendInOrder(key, change({ scopes: ['svc:read'] }), create);
    expect(restricted?.status).to.equal(200);
    expectError(rejected as ApiResponse, 'insufficient_scope');
    expect(await readGenerationCount(key)).to.equal(2);
  });

  it('creates as soon as another key of the account was revoked', async () => {
    const key = await createKey();
    const { uuid } = await createRestrictedKey(service, key.owner, {});
    const [revoked, created] = await sendInOrder(
      key,
      () => key.owner.requestWithSession('POST', `/api/keys/${uuid}/revoke/`),
      () => key.customer.createGeneration(IMAGE),
    );
    expect([revoked?.status, created?.status]).to.deep.equal([200, 201]);
  });

  it('reports a cancellation as carried out if its key was renamed before it responds', async () => {
    const key = await createKey();
    const { uuid } = await key.customer.createImage();
    const body = { name: 'renamed' };
    const [renamed, canceled] = await sendInOrder(
      key,
      () => key.owner.requestWithSession('PATCH', `/api/keys/${key.uuid}/`, { body }),
      () => key.customer.request('POST', `/api/generations/${uuid}/cancel/`),
    );
    expect([renamed?.status, canceled?.status]).to.deep.equal([200, 200]);
    expect(canceled?.body.status).to.equal('failed');
    expect(await key.owner.balance()).to.equal(3_000 - 8);
  });
});

import { expect } from 'chai';
import { buildServiceCaller, type Caller } from '../../shared/domain/accounts/caller.ts';
import { revokeOtherWebSessions } from '../../shared/domain/signIn/sessions.ts';
import { signOutAccount } from '../../shared/domain/staff/accessActions.ts';
import { type ApiResponse, IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { getAccountId } from '../harness/outbox.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { addTestKey, useTestModeService } from '../harness/testMode.ts';
import type { TestService } from '../harness/testService.ts';

describe('a request that waits for the account while its credential is changed', () => {
  const mode = useTestModeService({ apis: 2, workers: 0 });
  let service: TestService;
  before(async () => {
    service = mode.service;
    await setAllModelsOnline(service);
  });
  afterEach(() => service.checkIntegrity());

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
    return sendWhileLocked(await getAccountId(service, owner), ...requests);
  }

  async function sendWhileLocked(
    accountId: number,
    ...requests: (() => Promise<ApiResponse>)[]
  ): Promise<ApiResponse[]> {
    const responses: Promise<ApiResponse>[] = [];
    await whileAccountIsLocked(service, accountId, async () => {
      for (const send of requests) await waitForLockWaits(service, responses.push(send()));
    });
    return Promise.all(responses);
  }

  const revoke = (key: Key) => () => key.owner.requestWithSession('POST', `/api/keys/${key.uuid}/revoke/`);

  const createWithSession =
    ({ owner }: Key) =>
    () =>
      owner.requestWithSession('POST', '/api/generations/create/', { body: { prompt: 'a lighthouse', ...IMAGE } });

  /** As staff do. */
  const signOut = (key: Key) => async (): Promise<ApiResponse> => {
    const accountId = await getAccountId(service, key.owner);
    const ended = await signOutAccount(accountId, { kind: 'system', systemUser: 'test', reason: 'a stolen cookie' });
    return { status: ended > 0 ? 200 : 404 } as ApiResponse;
  };

  const readGenerationCount = async ({ owner }: Key): Promise<number> =>
    (await owner.request('GET', '/api/generations/')).body.pagination?.total_items ?? NaN;

  it('creates nothing after its key was revoked', async () => {
    const key = await createKey();
    const [revoked, created] = await sendInOrder(key, revoke(key), () => key.customer.createGeneration(IMAGE));
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

  it('takes precedence over an error of the body, although the process knows the key', async () => {
    const key = await createKey();
    expect((await revoke(key)()).status).to.equal(200);
    const unknownModel = await key.customer.createGeneration({ ...IMAGE, model: 'unknown' });
    expectError(unknownModel, 'invalid_api_key', 'unknown or revoked');
    const other = await createKey();
    expect((await revoke(other)()).status).to.equal(200);
    const malformed = await other.customer.request('POST', '/api/generations/create/', { rawBody: '{"prompt":' });
    expectError(malformed, 'invalid_api_key', 'unknown or revoked');
    const restricted = await createKey();
    const body = { scopes: ['svc:read'] };
    await restricted.owner.requestWithSession('PATCH', `/api/keys/${restricted.uuid}/`, { body });
    const invalid = await restricted.customer.createGeneration({ ...IMAGE, model: 'unknown' });
    expectError(invalid, 'insufficient_scope', 'This request requires the scope svc:write');
  });

  it('says what a known key may not do since it was restricted, and creates once it may again', async () => {
    const key = await createKey();
    const change = (body: object) => key.owner.requestWithSession('PATCH', `/api/keys/${key.uuid}/`, { body });
    for (const [restriction, detail] of [
      [{ scopes: ['svc:read'] }, 'This request requires the scope svc:write'],
      [{ scopes: null, allowed_models: ['vidmodel-video'] }, 'This API key may not use imgmodel-2'],
      [{ allowed_models: null, allowed_ips: ['192.0.2.0/24'] }, 'This API key may not be used from'],
    ] as const) {
      expect((await change(restriction)).status).to.equal(200);
      expectError(await key.customer.createGeneration(IMAGE), 'insufficient_scope', detail);
    }
    expect((await change({ allowed_ips: null })).status).to.equal(200);
    await key.customer.createImage();
    expect((await change({ scopes: ['svc:read'] })).status).to.equal(200);
    expectError(await key.customer.createGeneration(IMAGE), 'insufficient_scope', 'This request requires');
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

  it('runs nothing in test mode after its test key was revoked', async () => {
    const { owner } = await createKey();
    const { uuid, tester } = await addTestKey(owner);
    const customer = tester.on(service.baseUrls[1] as string);
    await customer.createImage();
    const [testAccount] = await service.sql<{ id: number }>('SELECT id FROM accounts WHERE live_account_id = $1', [
      await getAccountId(service, owner),
    ]);
    const [revoked, created] = await sendWhileLocked(
      testAccount!.id,
      () => owner.requestWithSession('POST', `/api/keys/${uuid}/revoke/`),
      () => customer.createGeneration(IMAGE),
    );
    expect(revoked?.status).to.equal(200);
    expectError(created as ApiResponse, 'invalid_api_key');
  });

  it('creates nothing after staff ended its session', async () => {
    const key = await createKey();
    const [signedOut, created] = await sendInOrder(key, signOut(key), createWithSession(key));
    expect(signedOut?.status).to.equal(200);
    expectError(created as ApiResponse, 'invalid_api_key', 'session has ended');
    expect(await readGenerationCount(key)).to.equal(1);
  });

  it('creates with a session that stays open while a key of the account is revoked', async () => {
    const key = await createKey();
    const [revoked, created] = await sendInOrder(key, revoke(key), createWithSession(key));
    expect([revoked?.status, created?.status]).to.deep.equal([200, 201]);
  });

  const CHANGES = {
    cancels: ['POST', (uuid: string) => `/api/generations/${uuid}/cancel/`],
    deletes: ['DELETE', (uuid: string) => `/api/generations/${uuid}/`],
  } as const;
  for (const [what, [method, getPath]] of Object.entries(CHANGES)) {
    it(`${what} nothing after its key was revoked`, async () => {
      const key = await createKey();
      const { uuid } = await key.customer.createImage();
      const [revoked, response] = await sendInOrder(key, revoke(key), () =>
        key.customer.request(method, getPath(uuid)),
      );
      expect(revoked?.status).to.equal(200);
      expectError(response as ApiResponse, 'invalid_api_key');
      expect((await key.owner.readGeneration(uuid)).body.status).to.equal('queued');
      expect(await key.owner.balance()).to.equal(3_000 - 16);
    });

    it(`${what} nothing after its key lost the scope`, async () => {
      const key = await createKey();
      const { uuid } = await key.customer.createImage();
      const body = { scopes: ['svc:read'] };
      const [changed, response] = await sendInOrder(
        key,
        () => key.owner.requestWithSession('PATCH', `/api/keys/${key.uuid}/`, { body }),
        () => key.customer.request(method, getPath(uuid)),
      );
      expect(changed?.status).to.equal(200);
      expectError(response as ApiResponse, 'insufficient_scope');
      expect((await key.owner.readGeneration(uuid)).body.status).to.equal('queued');
    });

    it(`${what} nothing after staff ended its session`, async () => {
      const key = await createKey();
      const { uuid } = await key.customer.createImage();
      const [signedOut, response] = await sendInOrder(key, signOut(key), () =>
        key.owner.requestWithSession(method, getPath(uuid)),
      );
      expect(signedOut?.status).to.equal(200);
      expectError(response as ApiResponse, 'invalid_api_key');
      expect((await key.customer.readGeneration(uuid)).body.status).to.equal('queued');
    });
  }

  for (const [method, action] of [
    ['POST', 'rotate-secret/'],
    ['POST', 'test/'],
    ['DELETE', ''],
  ] as const) {
    it(`changes no webhook endpoint by ${method} ${action} after its key was revoked`, async () => {
      const key = await createKey();
      const { body: endpoint } = await key.owner.request('POST', '/api/webhooks/create/', {
        body: { url: 'https://hooks.example.com/' },
      });
      const path = `/api/webhooks/${endpoint.uuid}/`;
      const change = () => key.customer.request(method, path + action, method === 'POST' ? { body: {} } : {});
      const [revoked, response] = await sendInOrder(key, revoke(key), change);
      expect(revoked?.status).to.equal(200);
      expectError(response as ApiResponse, 'invalid_api_key', 'Nothing was created or changed');
      expect((await key.owner.request('GET', path)).body).to.include({ public_key: endpoint.public_key });
      expect((await key.owner.request('GET', `${path}deliveries/`)).body.pagination.total_items).to.equal(0);
    });
  }

  for (const [name, path, fields] of [
    ['API key', '/account/keys/', { name: 'of a thief', all_scopes: 'on', limit_period: 'day' }],
    ['webhook endpoint', '/account/webhooks/', { url: 'https://thief.example.com/', all_events: 'on' }],
  ] as const) {
    it(`creates no ${name} by its page after staff ended its session`, async () => {
      const key = await createKey();
      const browser = createBrowserFor(key.owner);
      const address = `${key.owner.baseUrl}${path}`;
      const { fields: hidden } = findForm((await browser.request(address)).text, path);
      const [signedOut, page] = await sendInOrder(key, signOut(key), async () => {
        const { status, text } = await browser.submitForm(address, { ...hidden, ...fields });
        return { status, body: text } as ApiResponse;
      });
      expect([signedOut?.status, page?.status]).to.deep.equal([200, 401]);
      expect(page?.body).to.not.match(/svc_[0-9a-f]{40}|whsec_/);
      const list = await key.customer.request('GET', path.replace('/account/', '/api/'));
      expect(JSON.stringify(list.body)).to.not.include('thief');
    });
  }

  it('creates nothing after its owner signed out of all other browsers', async () => {
    const key = await createKey();
    const owner: Caller = {
      ...buildServiceCaller(await getAccountId(service, key.owner)),
      member: { number: 1, role: 'owner' },
    };
    const [signedOut, created] = await sendInOrder(
      key,
      async () => ({ status: (await revokeOtherWebSessions(owner, 'f'.repeat(64))) > 0 ? 200 : 404 }) as ApiResponse,
      createWithSession(key),
    );
    expect(signedOut?.status).to.equal(200);
    expectError(created as ApiResponse, 'invalid_api_key', 'session has ended');
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { disconnectApplication } from '../../shared/domain/oauth/grants.ts';
import { revokeOtherWebSessions } from '../../shared/domain/signIn/sessions.ts';
import { signOutAccount } from '../../shared/domain/staff/accessActions.ts';
import { type ApiResponse, IMAGE, type RequestOptions, TestCustomer } from '../harness/apiClient.ts';
import type { ErrorCode } from '../../shared/spec/errors.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { createPkce, registerClient, submitConsent } from '../harness/oauthClient.ts';
import { getAccountId } from '../harness/outbox.ts';
import { sendRequestHead } from '../harness/rawRequest.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { addTestKey, useTestModeService } from '../harness/testMode.ts';
import type { TestService } from '../harness/testService.ts';

type Credential = 'key' | 'session' | 'application';

/** A customer with a credential that ends, at a process that has seen it valid. */
interface Caller {
  owner: TestCustomer;
  accountId: number;
  /** UUID of the key, or of the grant of the application. */
  uuid: string;
  headers: Record<string, string>;
  /** UUIDs of what the account has, by the names in the paths of {@link OPERATIONS}. */
  targets: Record<string, string>;
  send: (method: string, path: string, options?: RequestOptions) => Promise<ApiResponse>;
}

const ACTOR = { kind: 'system', systemUser: 'test', reason: 'a stolen cookie' } as const;
const LATE = 'https://thief.example.com/';

/** Requests that lock the account before they decide. The first ones are those of applications, too. */
const OPERATIONS: readonly [method: string, path: string, body?: object, headers?: Record<string, string>][] = [
  ['POST', '/api/generations/create/', { ...IMAGE, prompt: 'a' }],
  ['POST', '/api/generations/create/', { ...IMAGE, prompt: 'a' }, { 'idempotency-key': randomUUID() }],
  ['POST', '/api/generations/:generation/cancel/'],
  ['DELETE', '/api/generations/:generation/'],
  ['POST', '/api/keys/create/', { name: 'of a thief' }],
  ['PATCH', '/api/keys/:key/', { name: 'of a thief' }],
  ['POST', '/api/webhooks/create/', { url: LATE }],
  ['PATCH', '/api/webhooks/:endpoint/', { url: LATE }],
  ['PATCH', '/api/webhooks/:disabled/', { enabled: true }],
  ['POST', '/api/webhooks/:endpoint/rotate-secret/', {}],
  ['POST', '/api/webhooks/:endpoint/test/', {}],
  ['DELETE', '/api/webhooks/:endpoint/'],
  ['POST', '/api/webhooks/:endpoint/deliveries/:delivery/redeliver/'],
  ['POST', '/api/keys/:key/revoke/'],
  ['POST', '/api/billing/checkout/', { plan: 'pro' }],
  ['POST', '/api/billing/topup/', { amount_cents: 5_000 }],
  ['PATCH', '/api/notifications/settings/', { credits_low_threshold: 7 }],
  ['POST', '/api/affiliate/enroll/', {}],
];
const OF_APPLICATIONS = OPERATIONS.slice(0, 4);
const OF_SESSIONS: typeof OPERATIONS = [
  ...OPERATIONS,
  ['PATCH', '/authentication/me/', { first_name: 'Thief' }],
  ['POST', '/authentication/onboarding/advance/', { step_completed: 'profile', data: { first_name: 'Thief' } }],
];
const OPERATIONS_OF = { key: OPERATIONS, session: OF_SESSIONS, application: OF_APPLICATIONS };
/** Requests that only read, or change nothing that the account has. */
const READS: typeof OPERATIONS = [['POST', '/api/generations/estimate/', { ...IMAGE, prompt: 'a' }]];

const changeKey = ({ owner, uuid }: Pick<Caller, 'owner' | 'uuid'>, body: object) =>
  owner.requestWithSession('PATCH', `/api/keys/${uuid}/`, { body });

const revokeKey = ({ owner }: Pick<Caller, 'owner'>, uuid: string) =>
  owner.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);

async function createTargets(service: TestService, owner: TestCustomer): Promise<Record<string, string>> {
  const hook = async () =>
    (await owner.request('POST', '/api/webhooks/create/', { body: { url: 'https://hooks.example.com/' } })).body.uuid;
  const [endpoint, disabled] = [await hook(), await hook()];
  await owner.request('PATCH', `/api/webhooks/${disabled}/`, { body: { enabled: false } });
  const delivery = (await owner.request('POST', `/api/webhooks/${endpoint}/test/`)).body.uuid;
  await service.sql(`UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE uuid = $1`, [
    delivery,
  ]);
  const [key] = (await owner.request('GET', '/api/keys/')).body.data;
  return { generation: (await owner.createImage()).uuid, endpoint, disabled, delivery, key: key.uuid };
}

const fill = ({ targets }: Caller, path: string) =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => targets[name] ?? '');

describe('a request whose credential ends', () => {
  const mode = useTestModeService({ apis: 2, workers: 0 });
  let service: TestService;
  before(async () => {
    service = mode.service;
    await setAllModelsOnline(service);
  });
  afterEach(() => service.checkIntegrity());

  /** Changes that end or restrict a credential, with the error that follows. */
  const ENDS: Record<
    string,
    { credential: Credential; end: (caller: Caller) => Promise<unknown>; error: ErrorCode; detail: RegExp }
  > = {
    'was revoked': {
      credential: 'key',
      end: (caller) => revokeKey(caller, caller.uuid),
      error: 'invalid_api_key',
      detail: /revoked/,
    },
    'lost a scope': {
      credential: 'key',
      end: (caller) => changeKey(caller, { scopes: ['svc:read'] }),
      error: 'insufficient_scope',
      detail: /./,
    },
    'was ended by staff': {
      credential: 'session',
      end: ({ accountId }) => signOutAccount(accountId, ACTOR),
      error: 'invalid_api_key',
      detail: /session (has )?ended/,
    },
    'was ended by its person in another browser': {
      credential: 'session',
      end: ({ accountId }) => {
        const person = { ...buildServiceCaller(accountId), member: { number: 1, role: 'owner' as const } };
        return revokeOtherWebSessions(person, 'f'.repeat(64));
      },
      error: 'invalid_api_key',
      detail: /session (has )?ended/,
    },
    'was disconnected': {
      credential: 'application',
      end: ({ accountId, uuid }) => disconnectApplication(accountId, uuid),
      error: 'invalid_api_key',
      detail: /^The application was disconnected from the account: connect it again\.$/,
    },
  };

  async function createCaller(credential: Credential): Promise<Caller> {
    const owner = await service.createCustomer('studio');
    const accountId = await getAccountId(service, owner);
    const targets = await createTargets(service, owner);
    const withToken = (token: string, uuid: string): Caller => {
      const customer = new TestCustomer(service.baseUrls[1] as string, owner.email, owner.cookie, token);
      const send: Caller['send'] = (...request) => customer.request(...request);
      return { owner, accountId, uuid, headers: { authorization: `Bearer ${token}` }, targets, send };
    };
    if (credential === 'session') {
      const headers = { cookie: owner.cookie, origin: service.baseUrl };
      return { ...withToken('', ''), headers, send: (...request) => owner.requestWithSession(...request) };
    }
    if (credential === 'key') {
      const { uuid, customer } = await createRestrictedKey(service, owner, {});
      return withToken(customer.key, uuid);
    }
    const client = await registerClient(service.baseUrl);
    const tokens = await client.authorizeAndExchange(owner, { resource: `${service.baseUrl}/api/` });
    const [{ uuid }] = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]);
    const caller = withToken(tokens.access_token, uuid);
    // The second process has another address, which its tokens do not have.
    const program = new TestCustomer(service.baseUrl, owner.email, owner.cookie, tokens.access_token);
    return { ...caller, send: (...request) => program.request(...request) };
  }

  /** State that requests change, which is the same after one that is rejected. */
  const readState = async ({ owner, accountId, targets }: Caller) => ({
    balance: await owner.balance(),
    rows: await service.sql(
      `SELECT (SELECT jsonb_agg(to_jsonb(g) ORDER BY g.uuid) FROM generations g WHERE g.account_id = $1) AS generations,
              (SELECT jsonb_agg(to_jsonb(w) ORDER BY w.uuid) FROM webhook_endpoints w WHERE w.account_id = $1) AS hooks,
              (SELECT jsonb_agg(d.status ORDER BY d.uuid) FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
                WHERE w.account_id = $1) AS deliveries,
              (SELECT jsonb_agg((k.name, k.uuid = $2 AND k.revoked_at IS NOT NULL) ORDER BY k.uuid) FROM api_keys k
                WHERE k.account_id = $1) AS keys,
              (SELECT (plan_slug, credits_low_threshold, is_affiliate, first_name)::text FROM accounts WHERE id = $1) AS account,
              (SELECT count(*) FROM topups t WHERE t.account_id = $1) AS topups`,
      [accountId, targets['key']],
    ),
  });

  /**
   * Locks the account, and releases it once the request waits for it: behind the change of its credential, which waits
   * as well, or unlike the change, if that happens without the lock.
   */
  async function sendAfter<End>(
    accountId: number,
    change: () => Promise<End>,
    send: () => Promise<ApiResponse>,
    { isLocking = true } = {},
  ): Promise<[ApiResponse, End]> {
    let sent: [Promise<ApiResponse>, Promise<End>] | undefined;
    await whileAccountIsLocked(service, accountId, async () => {
      if (isLocking) {
        const changed = change();
        await waitForLockWaits(service);
        sent = [send(), changed];
        await waitForLockWaits(service, 2);
      } else {
        const response = send();
        await waitForLockWaits(service);
        sent = [response, change()];
        await sent[1];
      }
    });
    return Promise.all(sent as NonNullable<typeof sent>);
  }

  for (const [what, { credential, end, error, detail }] of Object.entries(ENDS)) {
    for (const [method, path, body, headers] of OPERATIONS_OF[credential]) {
      const name = `${method} ${path}${headers === undefined ? '' : ' with an Idempotency-Key'}`;
      it(`${name} changes nothing if its ${credential} ${what} while it waits for the account`, async () => {
        const caller = await createCaller(credential);
        await caller.send('GET', '/api/generations/');
        const before = await readState(caller);
        const options = { ...(body && { body }), ...(headers && { headers }) };
        const [response] = await sendAfter(
          caller.accountId,
          () => end(caller),
          () => caller.send(method, fill(caller, path), options),
          { isLocking: credential !== 'application' },
        );
        expectError(response, error);
        expect(response.body.detail).to.match(detail);
        expect(await readState(caller)).to.deep.equal(before);
      });
    }

    it(`changes nothing if its ${credential} ${what} while its body arrives`, async () => {
      const caller = await createCaller(credential);
      const operations = [...READS, ...OPERATIONS_OF[credential]];
      const before = await readState(caller);
      const unfinished = await Promise.all(
        operations.map(async ([method, path, body = {}]) => {
          const text = JSON.stringify(body);
          const length = { 'content-length': String(Buffer.byteLength(text)) };
          const headers = { ...caller.headers, ...length };
          return { text, ...(await sendRequestHead(service.baseUrl, method, fill(caller, path), headers)) };
        }),
      );
      // By then, the service has looked the credential up.
      await caller.send('GET', '/api/generations/');
      await end(caller);
      for (const request of unfinished) request.end(request.text);
      for (const { reply } of unfinished) {
        const [head, text = ''] = (await reply).split('\r\n\r\n');
        expect(JSON.parse(text)).to.include({ error });
        if (credential === 'application') expect(head).to.include('error="invalid_token", scope="svc:read svc:write"');
      }
      expect(await readState(caller)).to.deep.equal(before);
    });
  }

  for (const [what, credential, change, path, status] of [
    ['a key was renamed', 'key', (one: Caller) => changeKey(one, { name: 'renamed' }), 'create', 201],
    ['a key was renamed', 'key', (one: Caller) => changeKey(one, { name: 'renamed' }), ':generation/cancel', 200],
    ['another key was revoked', 'key', (one: Caller) => revokeKey(one, one.targets['key'] ?? ''), 'create', 201],
    ['a key was revoked', 'session', (one: Caller) => revokeKey(one, one.targets['key'] ?? ''), 'create', 201],
  ] as const) {
    it(`is carried out by its ${credential} if ${what} while it waits for the account (${path})`, async () => {
      const caller = await createCaller(credential);
      const [response, changed] = await sendAfter(
        caller.accountId,
        () => change(caller),
        () => caller.send('POST', fill(caller, `/api/generations/${path}/`), { body: { ...IMAGE, prompt: 'a' } }),
      );
      expect([response.status, changed.status]).to.deep.equal([status, 200]);
    });
  }

  it('says so before an error of its body, although the process knows the key', async () => {
    for (const [change, code, detail] of [
      [revokeKey, 'invalid_api_key', 'unknown or revoked'],
      [changeKey, 'insufficient_scope', 'This request requires the scope svc:write'],
    ] as const) {
      const caller = await createCaller('key');
      await caller.send('GET', '/api/generations/');
      await (change === revokeKey ? revokeKey(caller, caller.uuid) : changeKey(caller, { scopes: ['svc:read'] }));
      const create = (options: RequestOptions) => caller.send('POST', '/api/generations/create/', options);
      expectError(await create({ body: { ...IMAGE, prompt: 'a', model: 'unknown' } }), code, detail);
      if (change === revokeKey) expectError(await create({ rawBody: '{"prompt":' }), code, detail);
    }
  });

  it('says what a known key may not do since it was restricted, and creates once it may again', async () => {
    const caller = await createCaller('key');
    const create = () => caller.send('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a' } });
    expect((await create()).status).to.equal(201);
    for (const [restriction, detail] of [
      [{ scopes: ['svc:read'] }, 'This request requires the scope svc:write'],
      [{ scopes: null, allowed_models: ['vidmodel-video'] }, 'This API key may not use imgmodel-2'],
      [{ allowed_models: null, allowed_ips: ['192.0.2.0/24'] }, 'This API key may not be used from'],
    ] as const) {
      expect((await changeKey(caller, restriction)).status).to.equal(200);
      expectError(await create(), 'insufficient_scope', detail);
    }
    expect((await changeKey(caller, { allowed_ips: null })).status).to.equal(200);
    expect((await create()).status).to.equal(201);
  });

  it('runs nothing in test mode after its test key was revoked', async () => {
    const owner = await service.createCustomer('studio');
    const { uuid, tester } = await addTestKey(owner);
    const customer = tester.on(service.baseUrls[1] as string);
    await customer.createImage();
    const accountId = await getAccountId(service, owner);
    const [test] = await service.sql<{ id: number }>('SELECT id FROM accounts WHERE live_account_id = $1', [accountId]);
    const [created, revoked] = await sendAfter(
      test!.id,
      () => revokeKey({ owner }, uuid),
      () => customer.createGeneration(IMAGE),
    );
    expect(revoked.status).to.equal(200);
    expectError(created, 'invalid_api_key');
  });

  for (const [name, path, fields] of [
    ['API key', '/account/keys/', { name: 'of a thief', all_scopes: 'on', limit_period: 'day' }],
    ['webhook endpoint', '/account/webhooks/', { url: LATE, all_events: 'on' }],
  ] as const) {
    it(`creates no ${name} by its page after staff ended its session`, async () => {
      const { owner, accountId } = await createCaller('session');
      const browser = createBrowserFor(owner);
      const address = `${owner.baseUrl}${path}`;
      const { fields: hidden } = findForm((await browser.request(address)).text, path);
      const [page] = await sendAfter(
        accountId,
        () => signOutAccount(accountId, ACTOR),
        async () => {
          const { status, text } = await browser.submitForm(address, { ...hidden, ...fields });
          return { status, body: text } as ApiResponse;
        },
      );
      expect(page.status).to.equal(401);
      expect(page.body).to.not.match(/svc_[0-9a-f]{40}|whsec_/);
      const list = await owner.request('GET', path.replace('/account/', '/api/'));
      expect(JSON.stringify(list.body)).to.not.include('thief');
    });
  }

  it('approves no application after staff ended its session', async () => {
    const client = await registerClient(service.baseUrl);
    for (const scope of ['svc:read', 'svc:read svc:write']) {
      const { owner, accountId } = await createCaller('session');
      const path = client.authorizePath(createPkce().challenge, { scope });
      const [reply] = await sendAfter(
        accountId,
        () => signOutAccount(accountId, ACTOR),
        () => submitConsent(service.baseUrl, owner, path),
      );
      expect([reply.status, String(reply.body).includes('sign in again')]).to.deep.equal([401, true]);
      expect(await service.sql('SELECT 1 FROM oauth_grants WHERE account_id = $1', [accountId])).to.deep.equal([]);
    }
  });
});

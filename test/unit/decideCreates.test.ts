import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createChargeFixture, KEY, MODEL, PROBED_SINCE, bytes } from '../harness/chargeFixture.ts';
import { after as at, DAY_MS, NOW, type Row } from '../harness/functionDatabase.ts';

const OTHER_KEY = 'cd'.repeat(32);

describe('the function that decides creates', () => {
  const {
    database,
    open,
    setHealth,
    createAccount,
    createTestAccount,
    build,
    decide,
    outcome,
    outcomeFor,
    createKey,
    createGrant,
    createLimit,
  } = createChargeFixture();
  before(open);
  after(() => database.close());

  const withKey = async (row: Row, request: Row = {}, options: Row = {}) => {
    const account = await createAccount();
    await database.query('DELETE FROM api_keys');
    await createKey(account, row);
    return outcome(build(account, { key_hash: KEY, ...request }), options);
  };

  describe('accept', () => {
    it('a request that nothing speaks against, with its fields', async () => {
      const account = await createAccount();
      const request = build(account, {
        idempotency_key: 'once',
        webhook_url: 'https://example.com/',
        metadata: { order: 1 },
        oauth_client_id: 'app',
      });
      const row = await decide(request);
      expect(row).to.deep.include({
        outcome: 'accepted',
        uuid: request['uuid'],
        model: MODEL,
        prompt: 'a fox',
        params: { resolution: '1K' },
        created_at: NOW,
        deadline_at: at(600_000),
        idempotency_key: 'once',
        webhook_url: 'https://example.com/',
        metadata: { order: 1 },
        catalog_id: 3,
        upstream_order: [1, 0],
        oauth_client_id: 'app',
        account_id: account,
        is_test: false,
        member_number: 1,
        has_members: false,
        api_key_number: null,
        credits: 30,
        from_plan: 30,
        leaves_low: false,
        turns_low: false,
        low_threshold: 10,
      });
    });

    it('only requests of the accounts that are named, which are locked', async () => {
      const [one, other] = [await createAccount(), await createAccount()];
      expect(await decide(build(one), { accounts: [other] })).to.equal(undefined);
      expect(await decide(build(one), { accounts: [] })).to.equal(undefined);
      expect((await decide(build(one), { accounts: [other, one] }))?.['account_id']).to.equal(one);
    });

    it('a test account without a subscription, for nothing and while its upstream is offline', async () => {
      const account = await createTestAccount();
      await setHealth({ status: 'offline' });
      const row = await decide(build(account));
      await setHealth({});
      expect(row).to.deep.include({ outcome: 'accepted', is_test: true, credits: 0, from_plan: 0, turns_low: false });
    });

    it('whose account has had other members, and says so', async () => {
      const account = await createAccount({ member_count: 2 });
      expect(await decide(build(account))).to.deep.include({ outcome: 'accepted', has_members: true });
      const single = await createAccount({ member_count: 1 });
      expect(await decide(build(single))).to.deep.include({ outcome: 'accepted', has_members: false });
    });
  });

  describe('an API key', () => {
    it('is accepted until the moment at which it expires, and named by its number', async () => {
      expect(await withKey({})).to.equal('accepted');
      expect(await withKey({ expires_at: at(1) })).to.equal('accepted');
      expect(await withKey({ expires_at: NOW })).to.equal('invalid_api_key');
      expect(await withKey({ expires_at: at(-1) })).to.equal('invalid_api_key');
      const account = await createAccount();
      await database.query('DELETE FROM api_keys');
      await createKey(account);
      expect((await decide(build(account, { key_hash: KEY })))?.['api_key_number']).to.equal(4);
    });

    it('is rejected once it is revoked, of another account, unknown, or not one of the call', async () => {
      expect(await withKey({ revoked_at: at(-1) })).to.equal('invalid_api_key');
      expect(await withKey({ account_id: await createAccount() })).to.equal('invalid_api_key');
      expect(await withKey({}, { key_hash: OTHER_KEY })).to.equal('invalid_api_key');
      expect(await withKey({}, { key_hash: OTHER_KEY }, { keys: [OTHER_KEY] })).to.equal('invalid_api_key');
      expect(await withKey({}, {}, { keys: [] })).to.equal('invalid_api_key');
    });

    it('of a request is that of its own hash, although the call names several', async () => {
      const account = await createAccount();
      await database.query('DELETE FROM api_keys');
      await createKey(account);
      await createKey(account, { key_hash: bytes(OTHER_KEY), number: 5, scopes: ['svc:read'] });
      const keys = [KEY, OTHER_KEY];
      expect((await decide(build(account, { key_hash: KEY }), { keys }))?.['api_key_number']).to.equal(4);
      expect(await outcome(build(account, { key_hash: OTHER_KEY }), { keys })).to.equal('insufficient_scope');
      expect((await decide(build(account), { keys }))?.['api_key_number']).to.equal(null);
    });

    it('of the test data acts on the test account only', async () => {
      const test = await createTestAccount();
      const [{ live_account_id: live }] = (await database.query('SELECT live_account_id FROM accounts WHERE id = $1', [
        test,
      ])) as [Row];
      await database.query('DELETE FROM api_keys');
      await createKey(Number(live), { test_account_id: test });
      expect(await outcome(build(test, { key_hash: KEY }))).to.equal('accepted');
      expect(await outcome(build(Number(live), { key_hash: KEY }))).to.equal('invalid_api_key');
    });

    it('is limited to its scopes, models and addresses', async () => {
      expect(await withKey({ scopes: ['svc:read'] })).to.equal('insufficient_scope');
      expect(await withKey({ scopes: ['svc:read', 'svc:write'] })).to.equal('accepted');
      expect(await withKey({ allowed_models: ['other'] })).to.equal('insufficient_scope');
      expect(await withKey({ allowed_models: ['other', MODEL] })).to.equal('accepted');
      const allowed_ips = ['10.0.0.0/8', '192.0.2.0/24'];
      expect(await withKey({ allowed_ips }, { address: '192.0.2.7' })).to.equal('accepted');
      expect(await withKey({ allowed_ips }, { address: '198.51.100.7' })).to.equal('insufficient_scope');
      expect(await withKey({ allowed_ips })).to.equal('insufficient_scope');
      expect(await withKey({}, { address: '198.51.100.7' })).to.equal('accepted');
    });
  });

  describe('a session', () => {
    const HASH = 'ee'.repeat(32);
    it('is accepted for its own account and member only', async () => {
      const account = await createAccount();
      await database.insert('sessions', {
        token_hash: bytes(HASH),
        uuid: randomUUID(),
        person_id: 1,
        account_id: account,
        member_number: 1,
        created_at: NOW,
        last_used_at: NOW,
        expires_at: at(DAY_MS),
      });
      expect(await outcome(build(account, { session_hash: HASH }))).to.equal('accepted');
      expect(await outcome(build(account, { session_hash: 'ef'.repeat(32) }))).to.equal('invalid_api_key');
      expect(await outcome(build(account, { session_hash: HASH, member_number: 2 }))).to.equal('invalid_api_key');
      expect(await outcome(build(await createAccount(), { session_hash: HASH }))).to.equal('invalid_api_key');
    });
  });

  describe('a grant', () => {
    it('is accepted for its own account and member, until it is revoked', async () => {
      const account = await createAccount();
      const grant_uuid = await createGrant(account);
      expect(await outcome(build(account, { grant_uuid }))).to.equal('accepted');
      expect(await outcome(build(account, { grant_uuid: randomUUID() }))).to.equal('invalid_api_key');
      expect(await outcome(build(account, { grant_uuid, member_number: 2 }))).to.equal('invalid_api_key');
      expect(await outcome(build(await createAccount(), { grant_uuid }))).to.equal('invalid_api_key');
      const revoked = await createGrant(account, { revoked_at: at(DAY_MS) });
      expect(await outcome(build(account, { grant_uuid: revoked }))).to.equal('invalid_api_key');
    });
  });

  const createMember = (account: number, role: string) =>
    database.insert('members', {
      account_id: account,
      number: 2,
      uuid: randomUUID(),
      person_id: 1,
      role,
      created_at: NOW,
    });

  describe('a member', () => {
    for (const role of ['owner', 'admin', 'developer', 'billing', 'viewer']) {
      const expected = ['owner', 'admin', 'developer'].includes(role) ? 'accepted' : 'role_changed';
      it(`with the role ${role} gets ${expected}, also for test data`, async () => {
        const account = await createAccount({ member_count: 2 });
        await createMember(account, role);
        expect(await outcome(build(account, { member_number: 2 }))).to.equal(expected);
        const test = await database.account({ live_account_id: account, parallel_limit: 1 });
        expect(await outcome(build(test, { member_number: 2 }))).to.equal(expected);
      });
    }

    it('is that of the account and with the number of the request', async () => {
      const [account, other] = [await createAccount({ member_count: 2 }), await createAccount({ member_count: 2 })];
      await createMember(other, 'viewer');
      expect(await outcome(build(account, { member_number: 2 }))).to.equal('accepted');
      expect(await outcome(build(other, { member_number: 1 }))).to.equal('accepted');
    });

    it('is not looked up while an account has had one only', async () => {
      const account = await createAccount({ member_count: 1 });
      await createMember(account, 'viewer');
      expect(await outcome(build(account, { member_number: 2 }))).to.equal('accepted');
    });
  });

  const threshold = async (row: Row) => (await decide(build(await createAccount(row))))?.['low_threshold'];

  const leavesLow = async (row: Row) =>
    (await decide(build(await createAccount({ auto_topup_threshold_credits: 70, ...row }))))?.['leaves_low'];

  describe('an account', () => {
    it('that is suspended is rejected', async () => {
      expect(await outcomeFor({ suspended_at: NOW })).to.equal('account_suspended');
    });

    it('needs a subscription that can be spent after this moment, and no requested deletion', async () => {
      expect(await outcomeFor({ spendable_until: null })).to.equal('subscription_required');
      expect(await outcomeFor({ spendable_until: at(-1) })).to.equal('subscription_required');
      expect(await outcomeFor({ spendable_until: NOW })).to.equal('subscription_required');
      expect(await outcomeFor({ spendable_until: at(1) })).to.equal('accepted');
      expect(await outcomeFor({ deletion_requested_at: NOW })).to.equal('subscription_required');
      const test = await createTestAccount({ deletion_requested_at: NOW });
      expect(await outcome(build(test))).to.equal('subscription_required');
    });

    it('may use all of its slots', async () => {
      expect(await outcomeFor({ in_flight: 1 })).to.equal('accepted');
      expect(await outcomeFor({ in_flight: 2 })).to.equal('parallel_limit_reached');
      expect(await outcomeFor({ in_flight: 3 })).to.equal('parallel_limit_reached');
    });

    it('may spend its last credit', async () => {
      expect(await outcomeFor({}, { credits: 100 })).to.equal('accepted');
      expect(await outcomeFor({}, { credits: 101 })).to.equal('insufficient_credits');
    });

    it('pays with plan credits first', async () => {
      for (const [credits, fromPlan] of [
        [59, 59],
        [60, 60],
        [61, 60],
      ]) {
        expect((await decide(build(await createAccount(), { credits })))?.['from_plan']).to.equal(fromPlan);
      }
    });

    it('tops up once less than the threshold of its automatic top-up is left', async () => {
      expect(await leavesLow({ auto_topup_enabled: true })).to.equal(false);
      expect(await leavesLow({ auto_topup_enabled: true, auto_topup_threshold_credits: 71 })).to.equal(true);
      expect(await leavesLow({ auto_topup_threshold_credits: 71 })).to.equal(false);
    });

    it('turns low once its balance is below the threshold of credits.low, until that is reported', async () => {
      const turnsLow = async (row: Row) => (await decide(build(await createAccount(row))))?.['turns_low'];
      expect(await turnsLow({ credits_low_threshold: 70 })).to.equal(false);
      expect(await turnsLow({ credits_low_threshold: 71 })).to.equal(true);
      expect(await turnsLow({ credits_low_threshold: 71, credits_low_since: at(-1) })).to.equal(false);
      expect(await turnsLow({ credits_low_threshold: null })).to.equal(true);
      const test = await createTestAccount({ credits_low_threshold: 71 });
      expect((await decide(build(test)))?.['turns_low']).to.equal(false);
    });

    it('has a tenth of the grant of the month as threshold unless it has one of its own', async () => {
      expect(await threshold({ credits_low_threshold: null, period_granted: 1_009 })).to.equal(100);
      expect(await threshold({ credits_low_threshold: 0 })).to.equal(0);
      expect(await threshold({ credits_low_threshold: 7 })).to.equal(7);
    });
  });

  describe('a model', () => {
    afterEach(() => setHealth({}));
    for (const [state, row, expected] of [
      ['degraded', { status: 'degraded' }, 'accepted'],
      ['offline', { status: 'offline' }, 'model_unavailable'],
      ['not probed', { model: 'other' }, 'model_unavailable'],
      ['probed too long ago', { probed_at: PROBED_SINCE }, 'model_unavailable'],
      ['probed just in time', { probed_at: at(-59_999) }, 'accepted'],
      ['rejecting our account', { circuit_open_until: at(1) }, 'model_unavailable'],
      ['no longer rejecting our account', { circuit_open_until: NOW }, 'accepted'],
    ] as const) {
      it(`whose upstream is ${state} is ${expected}`, async () => {
        await setHealth(row);
        expect(await outcomeFor({})).to.equal(expected);
      });
    }
  });

  it('a repeated idempotency key of the same account is replayed', async () => {
    const [account, other] = [await createAccount(), await createAccount()];
    await database.insert('generations', {
      uuid: randomUUID(),
      account_id: account,
      number: 1,
      model: MODEL,
      prompt: '',
      params: {},
      credits_charged: 1,
      plan_credits_charged: 1,
      created_at: NOW,
      deadline_at: NOW,
      next_attempt_at: NOW,
      idempotency_key: 'once',
    });
    expect(await outcome(build(account, { idempotency_key: 'once' }))).to.equal('replayed');
    expect(await outcome(build(account, { idempotency_key: 'twice' }))).to.equal('accepted');
    expect(await outcome(build(account))).to.equal('accepted');
    expect(await outcome(build(other, { idempotency_key: 'once' }))).to.equal('accepted');
  });

  it('an input that is missing makes the request unavailable', async () => {
    const account = await createAccount();
    const [one, other] = [randomUUID(), randomUUID()];
    const inputs = [one, other].map((upload_uuid) => ({ role: 'reference', position: 0, upload_uuid }));
    const request = build(account, { inputs });
    expect(await outcome(request, { uploads: [one, other] })).to.equal('accepted');
    expect(await outcome(request, { uploads: [one] })).to.equal('input_unavailable');
    expect(await outcome(request)).to.equal('input_unavailable');
    expect(await outcome(build(account))).to.equal('accepted');
  });

  const withLimit = async (row: Row, request: Row = {}) => {
    const account = await createAccount({ spending_limit_count: 1 });
    await createLimit(account, { member_number: 1, ...row });
    return outcome(build(account, request));
  };

  describe('a spending limit', () => {
    it('may be used up, and not exceeded', async () => {
      expect(await withLimit({})).to.equal('accepted');
      expect(await withLimit({ used: 21 })).to.equal('spending_limit_reached');
      expect(await withLimit({ credits: null, used: 21 })).to.equal('accepted');
    });

    it('counts from zero in a new window', async () => {
      const window_start = new Date('2037-02-01T00:00:00Z');
      expect(await withLimit({ window_start, used: 49 })).to.equal('accepted');
      expect(await withLimit({ window_start, credits: 30 })).to.equal('accepted');
      expect(await withLimit({ window_start, credits: 29 })).to.equal('spending_limit_reached');
    });

    it('applies to its own key, application or member of its own account', async () => {
      const used = 50;
      expect(await withLimit({ member_number: 2, used })).to.equal('accepted');
      const ofApplication = { member_number: null, client_id: 'app', used };
      expect(await withLimit(ofApplication)).to.equal('accepted');
      expect(await withLimit(ofApplication, { oauth_client_id: 'other' })).to.equal('accepted');
      expect(await withLimit(ofApplication, { oauth_client_id: 'app' })).to.equal('spending_limit_reached');
      const account = await createAccount({ spending_limit_count: 1 });
      await createLimit(await createAccount(), { member_number: 1, used });
      expect(await outcome(build(account))).to.equal('accepted');
      await createLimit(account, { key_number: 4, used });
      await database.query('DELETE FROM api_keys');
      await createKey(account);
      await createKey(account, { key_hash: bytes(OTHER_KEY), number: 5 });
      expect(await outcome(build(account))).to.equal('accepted');
      const keys = [KEY, OTHER_KEY];
      expect(await outcome(build(account, { key_hash: OTHER_KEY }), { keys })).to.equal('accepted');
      expect(await outcome(build(account, { key_hash: KEY }), { keys })).to.equal('spending_limit_reached');
    });

    it('rejects although another limit of the request has credits left', async () => {
      const account = await createAccount({ spending_limit_count: 2 });
      await createLimit(account, { member_number: 1 });
      await createLimit(account, { number: 2, client_id: 'app', used: 21 });
      expect(await outcome(build(account, { oauth_client_id: 'app' }))).to.equal('spending_limit_reached');
    });
  });
});

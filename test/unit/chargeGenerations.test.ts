import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createChargeFixture, KEY, MODEL, MONTH } from '../harness/chargeFixture.ts';
import { after as at, NOW, type Row } from '../harness/functionDatabase.ts';

const skip = (table: string, key: string) => `SELECT FROM ${table} WHERE ${key} = $1 FOR UPDATE SKIP LOCKED`;

describe('the function that charges creates', () => {
  const {
    database,
    open,
    createAccount,
    createTestAccount,
    build,
    charge,
    createKey,
    createGrant,
    createLimit,
    createUpload,
  } = createChargeFixture();
  before(open);
  after(() => database.close());

  const readEvents = (account: number) => database.rows('outbox_events', account, 'type, subject, details, created_at');

  const chargeLow = async (row: Row, sendsEmail: boolean) => {
    const account = await createAccount({ credits_low_threshold: 71, parallel_limit: 9, ...row });
    const request = build(account);
    await charge([[request], [build(account)]], { sendsEmail });
    const { credits_low_since: since } = await database.readAccount(account, 'credits_low_since');
    return { since, events: await readEvents(account), uuid: request['uuid'] as string };
  };

  describe('a charge', () => {
    const ACCOUNT_COLUMNS =
      'balance, plan_credits, topup_credits, period_used, in_flight, generation_count, ledger_count, ' +
      'auto_topup_triggered_at, credits_low_since';

    it('moves the credits, takes a slot and writes generation, ledger and usage', async () => {
      const account = await createAccount({ member_count: 2 });
      await database.query('DELETE FROM api_keys');
      await createKey(account);
      const request = build(account, {
        key_hash: KEY,
        credits: 70,
        idempotency_key: 'once',
        webhook_url: 'https://example.com/',
        metadata: { order: 1 },
        oauth_client_id: 'app',
      });
      expect(await charge([[request]], { keys: [KEY] })).to.deep.equal([
        { uuid: request['uuid'], outcome: 'accepted', is_low: false },
      ]);
      expect(await database.readAccount(account, ACCOUNT_COLUMNS)).to.deep.equal({
        balance: 30,
        plan_credits: 0,
        topup_credits: 30,
        period_used: 81,
        in_flight: 1,
        generation_count: 8,
        ledger_count: 6,
        auto_topup_triggered_at: null,
        credits_low_since: null,
      });
      const [generation] = await database.query('SELECT * FROM generations WHERE account_id = $1', [account]);
      expect(generation).to.deep.include({
        uuid: request['uuid'],
        number: '8',
        model: MODEL,
        prompt: 'a fox',
        params: { resolution: '1K' },
        credits_charged: 70,
        plan_credits_charged: 60,
        created_at: NOW,
        deadline_at: at(600_000),
        next_attempt_at: at(5_000),
        idempotency_key: 'once',
        member_number: 1,
        api_key_number: 4,
        webhook_url: 'https://example.com/',
        metadata: { order: 1 },
        catalog_id: '3',
        upstream_order: [1, 0],
        is_test: false,
        oauth_client_id: 'app',
        status: 'queued',
      });
      const columns =
        'number, entry_type, amount, plan_amount, balance_after, description, generation_uuid, created_at';
      expect(await database.rows('ledger_entries', account, columns)).to.deep.equal([
        {
          number: 6,
          entry_type: 'burn',
          amount: -70,
          plan_amount: -60,
          balance_after: 30,
          description: `Generation: ${MODEL}`,
          generation_uuid: request['uuid'],
          created_at: NOW,
        },
      ]);
    });

    it('adds to the usage of day, model, key and member', async () => {
      const account = await createAccount({ member_count: 2 });
      await database.query('DELETE FROM api_keys');
      await createKey(account);
      const request = (row: Row) => build(account, { key_hash: KEY, member_number: 1, ...row });
      await charge([[request({ credits: 30 })], [request({ credits: 12 })]], { keys: [KEY] });
      const usage = { credits: 42, generations: 2 };
      expect(
        await database.rows('usage_days', account, 'cast(day AS text), model, credits, generations'),
      ).to.deep.equal([{ day: '2037-03-15', model: MODEL, ...usage }]);
      expect(await database.rows('usage_totals', account, 'model, credits, generations')).to.deep.equal([
        { model: MODEL, ...usage },
      ]);
      expect(await database.rows('usage_keys', account, 'key_number, credits, generations')).to.deep.equal([
        { key_number: 4, ...usage },
      ]);
      expect(await database.rows('usage_members', account, 'member_number, credits, generations')).to.deep.equal([
        { member_number: 1, ...usage },
      ]);
    });

    it('writes no usage of keys and members without a key or other members', async () => {
      const [account, shared] = [await createAccount(), await createAccount({ member_count: 2 })];
      await charge([[build(account), build(shared, { member_number: null })]]);
      for (const table of ['usage_keys', 'usage_members'])
        for (const owner of [account, shared])
          expect(await database.rows(table, owner, 'account_id')).to.deep.equal([]);
    });

    it('of a test account takes a slot and writes no ledger entry', async () => {
      const account = await createTestAccount();
      await charge([[build(account)]]);
      expect(await database.readAccount(account, 'balance, in_flight, ledger_count, generation_count')).to.deep.equal({
        balance: 0,
        in_flight: 1,
        ledger_count: 0,
        generation_count: 1,
      });
      expect(await database.rows('ledger_entries', account, 'account_id')).to.deep.equal([]);
      expect(await database.rows('generations', account, 'is_test, credits_charged')).to.deep.equal([
        { is_test: true, credits_charged: 0 },
      ]);
    });

    it('that is rejected writes nothing, and does not stop others', async () => {
      const [account, poor] = [await createAccount(), await createAccount({ in_flight: 2 })];
      const outcomes = await charge([[build(poor), build(account)]]);
      expect(outcomes.map((row) => row['outcome'])).to.have.members(['accepted', 'parallel_limit_reached']);
      expect(await database.readAccount(poor, 'balance, in_flight, ledger_count')).to.deep.equal({
        balance: 100,
        in_flight: 2,
        ledger_count: 5,
      });
      expect(await database.rows('generations', poor, 'account_id')).to.deep.equal([]);
      expect(await database.readAccount(account, 'balance')).to.deep.equal({ balance: 70 });
    });

    it('is paid by its own account, also beside others in its round', async () => {
      const [account, other] = [await createAccount(), await createAccount({ ledger_count: 9 })];
      await charge([[build(account), build(other, { credits: 50 })]]);
      for (const [owner, entry] of [
        [account, { number: 6, amount: -30, balance_after: 70 }],
        [other, { number: 10, amount: -50, balance_after: 50 }],
      ] as const)
        expect(await database.rows('ledger_entries', owner, 'number, amount, balance_after')).to.deep.equal([entry]);
    });

    it('of a later round sees what the one before it has written', async () => {
      const account = await createAccount();
      const outcomes = await charge([
        [build(account, { credits: 90 })],
        [build(account)],
        [build(account, { credits: 10 })],
      ]);
      expect(outcomes.map((row) => row['outcome'])).to.deep.equal(['accepted', 'insufficient_credits', 'accepted']);
      expect(await database.rows('ledger_entries', account, 'number, balance_after')).to.deep.equal([
        { number: 6, balance_after: 10 },
        { number: 7, balance_after: 0 },
      ]);
    });

    it('stores the inputs of the generation, of uploads that are ready', async () => {
      const account = await createAccount();
      const upload = (row: Row) => createUpload(account, row);
      const [ready, unnamed] = [await upload({}), await upload({})];
      const pending = await upload({ status: 'pending', width: null, height: null });
      const using = (uuid: string) => build(account, { inputs: [{ role: 'mask', position: 3, upload_uuid: uuid }] });
      const outcomes = async (uuid: string, uploads: string[]) =>
        (await charge([[using(uuid)]], { uploads })).map((row) => row['outcome']);
      expect(await outcomes(ready, [ready])).to.deep.equal(['accepted']);
      expect(await outcomes(pending, [pending])).to.deep.equal(['input_unavailable']);
      expect(await outcomes(unnamed, [ready])).to.deep.equal(['input_unavailable']);
      expect(await outcomes(randomUUID(), [ready])).to.deep.equal(['input_unavailable']);
      expect(await outcomes(ready, [])).to.deep.equal(['input_unavailable']);
      expect(await database.rows('generation_inputs', account, 'role, position, upload_uuid')).to.deep.equal([
        { role: 'mask', position: 3, upload_uuid: ready },
      ]);
      const remove = 'SELECT FROM uploads WHERE uuid = $1 FOR UPDATE SKIP LOCKED';
      const call = () => charge([[using(ready)]], { uploads: [ready] });
      expect(await database.isLockedBy(call, remove, [ready])).to.equal(true);
    });

    it('records the trigger of an automatic top-up, of the first burn below the threshold', async () => {
      const account = await createAccount({
        auto_topup_enabled: true,
        auto_topup_threshold_credits: 71,
        parallel_limit: 9,
      });
      const triggered = () => database.readAccount(account, 'auto_topup_triggered_at');
      const first = await charge([[build(account)]]);
      expect(first[0]?.['is_low']).to.equal(true);
      expect(await triggered()).to.deep.equal({ auto_topup_triggered_at: NOW });
      await charge([[build(account, { created_at: at(1) })]]);
      expect(await triggered()).to.deep.equal({ auto_topup_triggered_at: NOW });
      const rejected = await charge([[build(account, { credits: 1_000 })]]);
      expect(rejected[0]).to.deep.include({ outcome: 'insufficient_credits', is_low: false });
    });

    describe('below the threshold of credits.low', () => {
      for (const [who, row, sendsEmail] of [
        ['a webhook', { webhook_count: 1 }, false],
        ['an e-mail', {}, true],
      ] as const) {
        it(`records the event once if ${who} follows from it`, async () => {
          const { since, events, uuid } = await chargeLow(row, sendsEmail);
          expect(since).to.deep.equal(NOW);
          expect(events).to.deep.equal([
            { type: 'credits.low', subject: uuid, details: { balance: 70, threshold: 71 }, created_at: NOW },
          ]);
        });
      }

      it('records nothing if nothing follows from it', async () => {
        expect(await chargeLow({}, false)).to.deep.include({ since: null, events: [] });
      });

      it('records nothing again before credits are added', async () => {
        const found = await chargeLow({ webhook_count: 1, credits_low_since: at(-1) }, true);
        expect(found).to.deep.include({ since: at(-1), events: [] });
      });

      it('records nothing above it', async () => {
        const found = await chargeLow({ webhook_count: 1, credits_low_threshold: 40 }, true);
        expect(found).to.deep.include({ since: null, events: [] });
      });
    });

    it('leaves out an account that another transaction keeps locked, unless it waits', async () => {
      const [account, busy] = [await createAccount(), await createAccount()];
      const requests = [build(account), build(busy)];
      const rows = await database.whileLocked('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [busy], async () =>
        charge([requests]),
      );
      expect(rows.map((row) => row['uuid'])).to.deep.equal([requests[0]?.['uuid']]);
      const waiting = database.whileLocked('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [busy], () =>
        charge([[build(busy)]], { waits: true }),
      );
      expect(
        await waiting.then(
          () => 'answered',
          (error: { code: string }) => error.code,
        ),
      ).to.equal('55P03');
    });

    it('locks its accounts and no others', async () => {
      const [account, other] = [await createAccount(), await createAccount()];
      const attempt = 'SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED';
      for (const waits of [false, true]) {
        const call = () => charge([[build(account, { credits: 1_000 })]], { waits });
        expect(await database.isLockedBy(call, attempt, [account])).to.equal(true);
        expect(await database.isLockedBy(call, attempt, [other])).to.equal(false);
      }
    });

    it('that waits recognizes what an earlier call has charged, and charges the rest', async () => {
      const [account, other] = [await createAccount(), await createAccount()];
      const [first, second, foreign] = [build(account), build(account), build(other)];
      await charge([[first]]);
      const rows = await charge([[first, foreign], [second]], { waits: true });
      expect(rows.map((row) => [row['uuid'], row['outcome'], row['is_low']])).to.deep.equal([
        [first['uuid'], 'accepted', false],
        [foreign['uuid'], 'accepted', false],
        [second['uuid'], 'accepted', false],
      ]);
      expect(await database.readAccount(account, 'balance, in_flight')).to.deep.equal({ balance: 40, in_flight: 2 });
      expect(await database.readAccount(other, 'balance, in_flight')).to.deep.equal({ balance: 70, in_flight: 1 });
    });
  });

  describe('a spending limit', () => {
    it('of each kind gets what a charge uses, in its current window', async () => {
      const account = await createAccount({ spending_limit_count: 4 });
      await database.query('DELETE FROM api_keys');
      await createKey(account);
      await createLimit(account, { member_number: 1 });
      await createLimit(account, { number: 2, client_id: 'app', window_start: new Date('2037-02-01T00:00:00Z') });
      await createLimit(account, { number: 3, key_number: 4, period: 'total', window_start: null });
      await createLimit(account, { number: 4, client_id: 'other' });
      await createLimit(account, { number: 5, member_number: 5 });
      await createLimit(account, { number: 6, key_number: 6 });
      const stranger = await createAccount({ spending_limit_count: 1 });
      await createLimit(stranger, { member_number: 1 });
      const request = build(account, { key_hash: KEY, oauth_client_id: 'app' });
      expect((await charge([[request]], { keys: [KEY] }))[0]?.['outcome']).to.equal('accepted');
      const columns = 'number, used, window_start, generation_count_at_window_start';
      expect(await database.rows('spending_limits', account, columns)).to.deep.equal([
        { number: 1, used: 50, window_start: MONTH, generation_count_at_window_start: 2 },
        { number: 2, used: 30, window_start: MONTH, generation_count_at_window_start: 7 },
        { number: 3, used: 50, window_start: null, generation_count_at_window_start: 2 },
        ...[4, 5, 6].map((number) => ({ number, used: 20, window_start: MONTH, generation_count_at_window_start: 2 })),
      ]);
      expect(await database.rows('spending_limits', stranger, 'used')).to.deep.equal([{ used: 20 }]);
    });

    it('without credits, which was removed, counts no further', async () => {
      const account = await createAccount({ spending_limit_count: 1 });
      await createLimit(account, { member_number: 1, credits: null });
      await charge([[build(account)]]);
      expect(await database.rows('spending_limits', account, 'used')).to.deep.equal([{ used: 20 }]);
    });

    it('stays in its window for a charge whose clock is behind', async () => {
      const account = await createAccount({ spending_limit_count: 1 });
      await createLimit(account, { member_number: 1, window_start: new Date('2037-04-01T00:00:00Z') });
      await charge([[build(account)]]);
      expect(await database.rows('spending_limits', account, 'used, window_start')).to.deep.equal([
        { used: 50, window_start: new Date('2037-04-01T00:00:00Z') },
      ]);
    });
  });

  it('locks the grants of its accounts until it has committed, and no others', async () => {
    const [account, other] = [await createAccount(), await createAccount()];
    const [mine, theirs] = [await createGrant(account), await createGrant(other)];
    const unnamed = await createGrant(account);
    const revoke = 'SELECT FROM oauth_grants WHERE uuid = $1 FOR NO KEY UPDATE SKIP LOCKED';
    const call = () => charge([[build(account, { grant_uuid: mine })]], { grants: [mine, theirs] });
    expect(await database.isLockedBy(call, revoke, [mine])).to.equal(true);
    expect(await database.isLockedBy(call, revoke, [theirs])).to.equal(false);
    expect(await database.isLockedBy(call, revoke, [unnamed])).to.equal(false);
  });

  describe('locks, in one order for all transactions,', () => {
    const [LOW, HIGH] = ['00000000-0000-4000-8000-000000000001', 'ffffffff-ffff-4fff-8fff-fffffffffff1'];

    it('accounts by their ids', async () => {
      const high = await createAccount({ id: 1_000_002 });
      const low = await createAccount({ id: 1_000_001 });
      const call = () => charge([[build(high), build(low)]], { waits: true });
      expect(await database.isLockedFirst(low, high, skip('accounts', 'id'), call)).to.equal(true);
    });

    it('uploads by their uuids', async () => {
      const account = await createAccount();
      for (const uuid of [HIGH, LOW]) await createUpload(account, { uuid });
      const inputs = [HIGH, LOW].map((upload_uuid, position) => ({ role: 'reference', position, upload_uuid }));
      const call = () => charge([[build(account, { inputs })]], { uploads: [HIGH, LOW] });
      expect(await database.isLockedFirst(LOW, HIGH, skip('uploads', 'uuid'), call)).to.equal(true);
    });

    it('grants by their uuids', async () => {
      const account = await createAccount();
      for (const uuid of [HIGH, LOW]) await createGrant(account, { uuid });
      const rounds = [[build(account, { grant_uuid: HIGH })], [build(account, { grant_uuid: LOW })]];
      const call = () => charge(rounds, { grants: [HIGH, LOW] });
      expect(await database.isLockedFirst(LOW, HIGH, skip('oauth_grants', 'uuid'), call)).to.equal(true);
    });
  });

  it('rejects a request whose upload is deleted while it waits', async () => {
    const account = await createAccount();
    const upload = await createUpload(account);
    const inputs = [{ role: 'mask', position: 0, upload_uuid: upload }];
    await database.other.query('BEGIN');
    await database.other.query('DELETE FROM uploads WHERE uuid = $1', [upload]);
    const rows = await database.whileWaiting(
      () => charge([[build(account, { inputs })]], { uploads: [upload] }),
      () => database.other.query('COMMIT'),
    );
    expect(rows.map((row) => row['outcome'])).to.deep.equal(['input_unavailable']);
  });

  describe('a repeated call', () => {
    it('recognizes a charge that would not be accepted again, and changes nothing', async () => {
      const account = await createAccount({
        parallel_limit: 1,
        auto_topup_enabled: true,
        auto_topup_threshold_credits: 90,
        ledger_count: 5,
      });
      const request = build(account);
      expect((await charge([[request]]))[0]).to.deep.include({ outcome: 'accepted', is_low: true });
      expect(await charge([[request]], { waits: true })).to.deep.equal([
        { uuid: request['uuid'], outcome: 'accepted', is_low: false },
      ]);
      expect((await charge([[request]]))[0]).to.deep.include({ outcome: 'parallel_limit_reached' });
      expect(await database.readAccount(account, 'balance, ledger_count')).to.deep.equal({
        balance: 70,
        ledger_count: 6,
      });
    });

    it('does not top up again for a charge that would be accepted again', async () => {
      const account = await createAccount({ auto_topup_enabled: true, auto_topup_threshold_credits: 90 });
      const request = build(account);
      await charge([[request]]);
      expect(await charge([[request]], { waits: true })).to.deep.equal([
        { uuid: request['uuid'], outcome: 'accepted', is_low: false },
      ]);
      expect(await database.readAccount(account, 'balance')).to.deep.equal({ balance: 70 });
    });

    it('charges what the first one has not, whatever else the account has created', async () => {
      const account = await createAccount();
      await charge([[build(account)]]);
      await charge([[build(account)]], { waits: true });
      expect(await database.readAccount(account, 'balance, in_flight')).to.deep.equal({ balance: 40, in_flight: 2 });
    });
  });

  it('does not count a charge for the limits of another account of the call', async () => {
    const [account, busy] = [await createAccount({ spending_limit_count: 1 }), await createAccount({ in_flight: 2 })];
    await createLimit(busy, { member_number: 1 });
    await charge([[build(account), build(busy)]]);
    expect(await database.rows('spending_limits', busy, 'used')).to.deep.equal([{ used: 20 }]);
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import {
  CANCEL_GENERATION,
  COMPLETE_GENERATIONS,
  FAIL_GENERATIONS,
} from '../../shared/domain/generations/execution/completeOrFail.ts';
import { after as at, FunctionDatabase, NOW, type Row } from '../harness/functionDatabase.ts';

const CANCELED = 'The generation was canceled.';
const FILES_AT = at(3_600_000);
const CREATED = new Date('2037-03-14T23:59:00Z');

type End = Row & { uuid: string; account_id: number };

const failure = (uuid: string, account: number, message = 'Refused.'): End => ({
  uuid,
  account_id: account,
  message,
});

const success = (uuid: string, account: number): End => ({
  uuid,
  account_id: account,
  output_path: 'a/image.png',
  is_watermarked: false,
});

const attempt = (table: string, key: string) => `SELECT FROM ${table} WHERE ${key} = $1 FOR NO KEY UPDATE SKIP LOCKED`;

const ids = (ends: End[]) => [ends.map((end) => end.account_id), ends.map((end) => end.uuid)] as const;

describe('the functions that end generations', () => {
  const database = new FunctionDatabase();
  before(() => database.open());
  after(() => database.close());

  /** An account with two queued generations, of which the first one was created in an earlier period. */
  const createAccount = (row: Row = {}) =>
    database.account({
      balance: 50,
      plan_credits: 20,
      topup_credits: 30,
      period_used: 40,
      in_flight: 3,
      ledger_count: 5,
      generation_count: 8,
      generation_count_at_period_start: 6,
      ...row,
    });

  const createGeneration = async (account: number, row: Row = {}): Promise<string> => {
    const uuid = randomUUID();
    await database.insert('generations', {
      uuid,
      account_id: account,
      number: 7,
      model: 'imgmodel-2',
      prompt: '',
      params: {},
      credits_charged: 8,
      plan_credits_charged: 5,
      created_at: CREATED,
      deadline_at: NOW,
      next_attempt_at: NOW,
      ...row,
    });
    return uuid;
  };

  const complete = (ends: End[], waits = true, [accounts, uuids] = ids(ends)) =>
    database.call(COMPLETE_GENERATIONS, [JSON.stringify(ends), accounts, uuids, NOW, waits]);
  const fail = (ends: End[], waits = true, [accounts, uuids] = ids(ends)) =>
    database.call(FAIL_GENERATIONS, [JSON.stringify(ends), accounts, uuids, NOW, FILES_AT, CANCELED, waits]);
  const cancel = (uuid: string, account: number, claimedAt: Date | null = null) =>
    database.call(CANCEL_GENERATION, [uuid, account, claimedAt, NOW, FILES_AT, CANCELED]);

  const read = async (uuid: string, columns: string) =>
    (await database.query(`SELECT ${columns} FROM generations WHERE uuid = $1`, [uuid]))[0] as Row;
  const readEvents = (account: number) => database.rows('outbox_events', account, 'type, subject, created_at');
  const readTasks = (account: number) => database.rows('tasks', account, 'kind, key, run_at, lease');

  for (const [name, end, build, status] of [
    ['success', complete, success, 'succeeded'],
    ['failure', fail, failure, 'failed'],
  ] as const) {
    describe(`a ${name}`, () => {
      it('ends a queued generation once, and frees its slot', async () => {
        const account = await createAccount();
        const uuid = await createGeneration(account);
        const [row] = await end([build(uuid, account)]);
        expect(row).to.deep.include({ uuid, is_busy: false, is_test: false, has_webhook: false });
        expect(await read(uuid, 'status, completed_at')).to.deep.equal({ status, completed_at: NOW });
        expect(await database.readAccount(account, 'in_flight')).to.deep.equal({ in_flight: 2 });
        expect(await end([build(uuid, account)])).to.deep.equal([]);
        expect(await database.readAccount(account, 'in_flight')).to.deep.equal({ in_flight: 2 });
      });

      it('of several accounts frees the slots of each', async () => {
        const [one, other, third] = [await createAccount(), await createAccount(), await createAccount()];
        const ends = [
          build(await createGeneration(one), one),
          build(await createGeneration(one, { number: 8 }), one),
          build(await createGeneration(other), other),
        ];
        expect(await end(ends)).to.have.length(3);
        for (const [account, in_flight] of [
          [one, 1],
          [other, 2],
          [third, 3],
        ] as const)
          expect(await database.readAccount(account, 'in_flight')).to.deep.equal({ in_flight });
      });

      it('belongs to the account and the generation that are named together', async () => {
        const [account, other] = [await createAccount(), await createAccount()];
        const [uuid, untouched] = [await createGeneration(account), await createGeneration(account, { number: 8 })];
        const foreign = await createGeneration(other);
        expect(await end([build(uuid, other)])).to.deep.equal([]);
        expect(await end([build(uuid, account)], true, [[other], [uuid]])).to.deep.include.members([
          { ...(await busyRow(uuid, end)) },
        ]);
        expect(await end([build(uuid, account)], true, [[account], [untouched]])).to.deep.equal([]);
        expect(
          await end([build(uuid, account)], true, [
            [account, other],
            [uuid, foreign],
          ]),
        ).to.have.length(1);
        for (const queued of [untouched, foreign])
          expect(await read(queued, 'status')).to.deep.equal({ status: 'queued' });
      });

      it('says of a test generation that it is one', async () => {
        const account = await createAccount();
        const uuid = await createGeneration(account, { is_test: true, credits_charged: 0, plan_credits_charged: 0 });
        expect((await end([build(uuid, account)]))[0]).to.deep.include({ uuid, is_test: true });
      });

      it('records an event if a webhook of the account or of the generation follows from it', async () => {
        for (const [row, generation, has_webhook] of [
          [{}, {}, false],
          [{ webhook_count: 1 }, {}, true],
          [{}, { webhook_url: 'https://example.com/' }, true],
        ] as const) {
          const account = await createAccount(row);
          const uuid = await createGeneration(account, generation);
          expect((await end([build(uuid, account)]))[0]).to.deep.include({ has_webhook });
          const event = { type: `generation.${status}`, subject: uuid, created_at: NOW };
          expect(await readEvents(account)).to.deep.equal(has_webhook ? [event] : []);
        }
      });

      it('records an event that is there already no second time', async () => {
        const account = await createAccount({ webhook_count: 1 });
        const uuid = await createGeneration(account);
        await database.insert('outbox_events', {
          account_id: account,
          type: `generation.${status}`,
          subject: uuid,
          created_at: at(-1),
        });
        expect(await end([build(uuid, account)])).to.have.length(1);
        expect(await readEvents(account)).to.have.length(1);
      });

      it('says that an account is busy which another transaction keeps locked, unless it waits', async () => {
        const [account, busy] = [await createAccount(), await createAccount()];
        const [uuid, late] = [
          await createGeneration(account),
          await createGeneration(busy, { webhook_url: 'https://x.y' }),
        ];
        const ends = [build(uuid, account), build(late, busy)];
        const rows = await database.whileLocked('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [busy], () =>
          end(ends, false),
        );
        expect(rows.find((row) => row['uuid'] === late)).to.deep.equal(await busyRow(late, end));
        expect(rows.find((row) => row['uuid'] === uuid)).to.deep.include({ is_busy: false });
        expect(rows).to.have.length(2);
        expect(await read(late, 'status')).to.deep.equal({ status: 'queued' });
      });
    });
  }

  const busyRow = async (uuid: string, end: unknown): Promise<Row> => ({
    uuid,
    is_busy: true,
    is_test: false,
    has_webhook: false,
    ...(end === fail ? { credits: 0 } : {}),
  });

  it('a failure of one run does not end another one', async () => {
    const account = await createAccount();
    const run = at(-5_000);
    const claimed = await createGeneration(account, { submit_started_at: run });
    const submitted = await createGeneration(account, { number: 8, submitted_at: run });
    for (const uuid of [claimed, submitted]) {
      expect(await fail([{ ...failure(uuid, account), run: at(-9_000) }])).to.deep.equal([]);
      expect(await read(uuid, 'status')).to.deep.equal({ status: 'queued' });
      expect(await fail([{ ...failure(uuid, account), run }])).to.have.length(1);
    }
  });

  it('a success stores the output', async () => {
    const account = await createAccount();
    const uuid = await createGeneration(account, {
      upstream: 'fal',
      upstream_model: 'm',
      upstream_handle: {},
      upstream_output: {},
    });
    const output = {
      output_path: 'a/image.png',
      thumbnail_path: 'a/small.jpg',
      more_outputs: ['b'],
      is_watermarked: true,
      provider_cost_cents: 3.9,
    };
    await complete([{ uuid, account_id: account, ...output }]);
    const columns = `${Object.keys(output).join(', ')}, upstream_output`;
    expect(await read(uuid, columns)).to.deep.equal({
      ...output,
      provider_cost_cents: '3.9000',
      upstream_output: null,
    });
    expect(await database.readAccount(account, 'balance, period_used, ledger_count')).to.deep.equal({
      balance: 50,
      period_used: 40,
      ledger_count: 5,
    });
  });

  it('a success deletes the files of a generation that was deleted meanwhile, and no others', async () => {
    const account = await createAccount();
    const token = randomUUID();
    const deleted = await createGeneration(account, { deleted_at: NOW, media_token: token });
    const kept = await createGeneration(account, { number: 8, media_token: randomUUID() });
    const without = await createGeneration(account, { number: 9, deleted_at: NOW });
    await complete([deleted, kept, without].map((uuid) => success(uuid, account)));
    expect(await readTasks(account)).to.deep.equal([
      { kind: 'generation.deleteFiles', key: token, run_at: NOW, lease: null },
    ]);
  });

  it('a success leaves the task of a deletion of files that waits already', async () => {
    const account = await createAccount();
    const token = randomUUID();
    await database.insert('tasks', {
      kind: 'generation.deleteFiles',
      key: token,
      run_at: at(9),
      created_at: NOW,
      account_id: account,
    });
    const uuid = await createGeneration(account, { deleted_at: NOW, media_token: token });
    expect(await complete([success(uuid, account)])).to.have.length(1);
    expect((await readTasks(account)).map((task) => task['run_at'])).to.deep.equal([at(9)]);
  });

  const totals = (owner: number) => database.rows('usage_totals', owner, 'credits, model');

  const days = (owner: number) => database.rows('usage_days', owner, 'credits, cast(day AS text), model');

  describe('a failure', () => {
    const ACCOUNT = 'balance, plan_credits, topup_credits, period_used, ledger_count';

    it('returns the credits to their buckets, with a ledger entry each', async () => {
      const account = await createAccount();
      const one = await createGeneration(account);
      const other = await createGeneration(account, { number: 8, credits_charged: 4, plan_credits_charged: 4 });
      const [first, second] = [one, other].toSorted() as [string, string];
      const rows = await fail([failure(one, account), failure(other, account)]);
      expect(rows.map((row) => row['credits'])).to.have.members([4, 8]);
      expect(await database.readAccount(account, ACCOUNT)).to.deep.equal({
        balance: 62,
        plan_credits: 29,
        topup_credits: 33,
        period_used: 28,
        ledger_count: 7,
      });
      const [a, b] = first === one ? [8, 4] : [4, 8];
      const columns =
        'number, entry_type, amount, plan_amount, balance_after, description, generation_uuid, created_at';
      const entry = { entry_type: 'refund', description: 'Refund: imgmodel-2 generation failed', created_at: NOW };
      expect(await database.rows('ledger_entries', account, columns)).to.deep.equal([
        { ...entry, number: 6, amount: a, plan_amount: a === 8 ? 5 : 4, balance_after: 50 + a, generation_uuid: first },
        { ...entry, number: 7, amount: b, plan_amount: b === 8 ? 5 : 4, balance_after: 62, generation_uuid: second },
      ]);
    });

    it('counts as used in the current period only what was created in it', async () => {
      const account = await createAccount();
      const before = await createGeneration(account, { number: 6 });
      const inside = await createGeneration(account, { number: 7, credits_charged: 5 });
      await fail([failure(before, account), failure(inside, account)]);
      expect(await database.readAccount(account, 'period_used')).to.deep.equal({ period_used: 35 });
    });

    it('of a test generation posts nothing', async () => {
      const account = await createAccount();
      const row = { is_test: true, credits_charged: 0, plan_credits_charged: 0 };
      await fail([failure(await createGeneration(account, row), account)]);
      expect(await database.readAccount(account, 'balance, ledger_count, in_flight')).to.deep.equal({
        balance: 50,
        ledger_count: 5,
        in_flight: 2,
      });
      expect(await database.rows('ledger_entries', account, 'number')).to.deep.equal([]);
    });

    it('subtracts from the usage of the day on which the generation was created, and of its model', async () => {
      const [account, other] = [await createAccount(), await createAccount()];
      for (const owner of [account, other]) {
        for (const [day, model] of [
          ['2037-03-14', 'imgmodel-2'],
          ['2037-03-15', 'imgmodel-2'],
          ['2037-03-14', 'other'],
        ])
          await database.insert('usage_days', { account_id: owner, day, model, credits: 100, generations: 9 });
        for (const model of ['imgmodel-2', 'other'])
          await database.insert('usage_totals', { account_id: owner, model, credits: 100, generations: 9 });
      }
      await fail([failure(await createGeneration(account), account)]);
      expect(await days(account)).to.deep.equal([
        { credits: 92, day: '2037-03-14', model: 'imgmodel-2' },
        { credits: 100, day: '2037-03-14', model: 'other' },
        { credits: 100, day: '2037-03-15', model: 'imgmodel-2' },
      ]);
      expect(await totals(account)).to.deep.equal([
        { credits: 92, model: 'imgmodel-2' },
        { credits: 100, model: 'other' },
      ]);
      for (const list of [days, totals])
        expect((await list(other)).every(({ credits }) => credits === 100)).to.equal(true);
    });

    it('deletes the files that its run may have left, later, even while a deletion is running', async () => {
      const account = await createAccount();
      const token = randomUUID();
      const without = await createGeneration(account, { number: 9 });
      await fail([failure(without, account)]);
      expect(await readTasks(account)).to.deep.equal([]);
      await database.insert('tasks', {
        kind: 'generation.deleteFiles',
        key: token,
        run_at: at(9),
        created_at: NOW,
        account_id: account,
        lease: randomUUID(),
      });
      const uuid = await createGeneration(account, { media_token: token });
      await fail([failure(uuid, account)]);
      expect(await readTasks(account)).to.deep.equal([
        { kind: 'generation.deleteFiles', key: token, run_at: FILES_AT, lease: null },
      ]);
    });

    it('by a cancellation says so, and when it was requested', async () => {
      const account = await createAccount({ in_flight: 4 });
      const [one, requested] = [
        await createGeneration(account),
        await createGeneration(account, { number: 8, cancel_requested_at: at(-1) }),
      ];
      const refused = await createGeneration(account, { number: 9, cancel_requested_at: at(-2) });
      await fail([failure(one, account, CANCELED), failure(requested, account, CANCELED), failure(refused, account)]);
      const columns = 'error_message, cancel_requested_at';
      expect(await read(one, columns)).to.deep.equal({ error_message: CANCELED, cancel_requested_at: NOW });
      expect(await read(requested, columns)).to.deep.equal({ error_message: CANCELED, cancel_requested_at: at(-1) });
      expect(await read(refused, columns)).to.deep.equal({ error_message: 'Refused.', cancel_requested_at: at(-2) });
      const described = await database.rows('ledger_entries', account, 'description');
      expect(described.map((row) => row['description'])).to.deep.equal([
        'Refund: imgmodel-2 generation canceled',
        'Refund: imgmodel-2 generation canceled',
        'Refund: imgmodel-2 generation failed',
      ]);
      const failed = await createGeneration(account, { number: 10 });
      await fail([failure(failed, account)]);
      expect(await read(failed, columns)).to.deep.equal({ error_message: 'Refused.', cancel_requested_at: null });
    });
  });

  describe('a cancellation', () => {
    const UPSTREAM = { upstream: 'fal', upstream_model: 'm', upstream_handle: {} };
    const ENDED = { has_ended: true, is_test: false, has_webhook: false, credits: 8, upstream: null, polled_at: null };
    const REQUESTED = { ...ENDED, has_ended: false, credits: 0 };

    it('ends and refunds a generation that certainly was not submitted', async () => {
      const account = await createAccount();
      const uuid = await createGeneration(account);
      expect(await cancel(uuid, account)).to.deep.equal([ENDED]);
      expect(await read(uuid, 'status, error_message')).to.deep.equal({ status: 'failed', error_message: CANCELED });
      expect(await database.readAccount(account, 'balance, in_flight')).to.deep.equal({ balance: 58, in_flight: 2 });
      expect(await cancel(uuid, account)).to.deep.equal([]);
    });

    it('ends one that only the claim of the caller could submit', async () => {
      const account = await createAccount();
      const uuid = await createGeneration(account, { submit_started_at: at(-5) });
      expect(await cancel(uuid, account, at(-5))).to.deep.equal([ENDED]);
      const other = await createGeneration(account, { number: 8, submit_started_at: at(-5) });
      expect(await cancel(other, account, at(-6))).to.deep.equal([REQUESTED]);
      const unclaimed = await createGeneration(account, { number: 9 });
      expect(await cancel(unclaimed, account, at(-5))).to.deep.equal([REQUESTED]);
    });

    for (const [state, row] of [
      ['has been accepted', UPSTREAM],
      ['may have been submitted', { unconfirmed_submits: 1 }],
      ['another process is submitting', { submit_started_at: at(-5) }],
    ] as const) {
      it(`is recorded once for a generation that ${state}`, async () => {
        const account = await createAccount();
        const times = { next_poll_at: at(1), next_attempt_at: at(2), polled_at: at(-3) };
        const uuid = await createGeneration(account, { ...times, ...row });
        const upstream = 'upstream' in row ? 'fal' : null;
        expect(await cancel(uuid, account)).to.deep.equal([{ ...REQUESTED, upstream, polled_at: at(-3) }]);
        expect(await read(uuid, 'status, cancel_requested_at, next_poll_at, next_attempt_at')).to.deep.equal({
          status: 'queued',
          cancel_requested_at: NOW,
          next_poll_at: null,
          next_attempt_at: upstream === null ? at(2) : NOW,
        });
        expect(await cancel(uuid, account)).to.deep.equal([]);
        expect(await database.readAccount(account, 'balance, in_flight')).to.deep.equal({ balance: 50, in_flight: 3 });
      });
    }

    it('does not concern other generations, of this or of another account', async () => {
      const [account, other] = [await createAccount(), await createAccount()];
      const untouched = [
        await createGeneration(account, { number: 6, ...UPSTREAM }),
        await createGeneration(other, UPSTREAM),
      ];
      const uuid = await createGeneration(account, { number: 7, ...UPSTREAM });
      expect(await cancel(uuid, other)).to.deep.equal([]);
      expect(await cancel(randomUUID(), account)).to.deep.equal([]);
      expect(await cancel(uuid, account)).to.have.length(1);
      for (const queued of untouched)
        expect(await read(queued, 'cancel_requested_at')).to.deep.equal({ cancel_requested_at: null });
    });

    it('goes by the state of the generation that is named', async () => {
      const account = await createAccount();
      await createGeneration(account, { number: 6 });
      const submitted = await createGeneration(account, { number: 7, ...UPSTREAM });
      expect(await cancel(submitted, account)).to.deep.equal([{ ...REQUESTED, upstream: 'fal' }]);
    });

    it('of a generation that has ended changes nothing', async () => {
      const account = await createAccount();
      const ended = { status: 'succeeded', completed_at: NOW, output_path: 'a/image.png' };
      const uuid = await createGeneration(account, { ...UPSTREAM, ...ended });
      expect(await cancel(uuid, account)).to.deep.equal([]);
      expect(await read(uuid, 'cancel_requested_at')).to.deep.equal({ cancel_requested_at: null });
    });

    it('of a deleted generation ends it only if it was requested before', async () => {
      const account = await createAccount();
      const deleted = await createGeneration(account, { number: 7, deleted_at: NOW });
      expect(await cancel(deleted, account)).to.deep.equal([]);
      const requested = await createGeneration(account, { number: 8, deleted_at: NOW, cancel_requested_at: at(-1) });
      expect(await cancel(requested, account)).to.deep.equal([ENDED]);
      const twice = await createGeneration(account, { number: 9, cancel_requested_at: at(-1) });
      expect(await cancel(twice, account)).to.deep.equal([ENDED]);
    });

    it('says whether a webhook follows, and that a test generation is one', async () => {
      const account = await createAccount({ webhook_count: 1 });
      const row = { is_test: true, credits_charged: 0, plan_credits_charged: 0 };
      const uuid = await createGeneration(account, row);
      expect(await cancel(uuid, account)).to.deep.equal([{ ...ENDED, credits: 0, is_test: true, has_webhook: true }]);
      const submitted = await createGeneration(account, { ...row, number: 8, unconfirmed_submits: 1 });
      expect(await cancel(submitted, account)).to.deep.equal([{ ...REQUESTED, is_test: true }]);
    });

    it('locks its account and the generation, and no others', async () => {
      const [account, other] = [await createAccount(), await createAccount()];
      const uuid = await createGeneration(account, { ...UPSTREAM, cancel_requested_at: at(-1) });
      const call = () => cancel(uuid, account);
      expect(await database.isLockedBy(call, attempt('accounts', 'id'), [account])).to.equal(true);
      expect(await database.isLockedBy(call, attempt('accounts', 'id'), [other])).to.equal(false);
      expect(await database.isLockedBy(call, attempt('generations', 'uuid'), [uuid])).to.equal(true);
    });
  });
});

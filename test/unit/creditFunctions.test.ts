import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { MONTH_PLAN, MONTH_START, RENEW_CREDIT_PERIODS } from '../../shared/domain/credits/periods.ts';
import { after as at, DAY_MS, FunctionDatabase, NOW, type Row } from '../harness/functionDatabase.ts';

/** Start of a year of a subscription, whose months begin on the last day of a calendar month. */
const START = new Date('2036-01-31T10:00:00Z');
const LATER = new Date('2039-01-01T00:00:00Z');
const date = (text: string) => new Date(`${text}T10:00:00Z`);
const milliseconds = (time: Date, ms: number) => new Date(time.getTime() + ms);

describe('the functions of credit periods', () => {
  const database = new FunctionDatabase();
  before(() => database.open());
  after(() => database.close());

  const createSubscription = async (account: number, row: Row = {}): Promise<Row> =>
    database.insert('subscriptions', {
      uuid: randomUUID(),
      account_id: account,
      plan_slug: 'pro',
      status: 'active',
      processor: 'stripe',
      created_at: START,
      started_at: START,
      current_period_end: LATER,
      paid_until: LATER,
      ...row,
    });

  const addPlan = (subscription: unknown, plan: string, row: Row = {}) =>
    database.insert('subscription_plans', {
      subscription_id: subscription,
      plan_slug: plan,
      stripe_invoice_id: randomUUID(),
      applies_from: START,
      applies_until: LATER,
      ...row,
    });

  it('count months from the start of the subscription, so that a clamped end shifts none', async () => {
    const starts = await Promise.all(
      [0, 1, 2, 3, 12].map(async (month) => (await database.call(MONTH_START, [START, month]))[0]),
    );
    expect(starts.flatMap((row) => Object.values(row as Row))).to.deep.equal(
      ['2036-01-31', '2036-02-29', '2036-03-31', '2036-04-30', '2037-01-31'].map(date),
    );
  });

  describe('the plan of a month', () => {
    type Plan = [plan: string, row?: Row];
    const findPlan = async (month: number, plans: Plan[]) => {
      const { id } = await createSubscription(await database.account());
      for (const [plan, row] of plans) await addPlan(id, plan, row);
      await addPlan((await createSubscription(await database.account()))['id'], 'studio');
      const rows = await database.call(MONTH_PLAN, [id, START, month]);
      expect(rows).to.have.length.at.most(1);
      return rows[0]?.['slug'] ?? null;
    };
    /** Start of the month 1, and of the one after it. */
    const [FIRST, SECOND] = [date('2036-02-29'), date('2036-03-31')];
    const inside = milliseconds(FIRST, DAY_MS);

    it('has its name and credits', async () => {
      const { id } = await createSubscription(await database.account());
      await addPlan(id, 'pro');
      expect(await database.call(MONTH_PLAN, [id, START, 1])).to.deep.equal([
        { slug: 'pro', name: 'Pro', credits: 1_100 },
      ]);
    });

    for (const [title, month, plans, expected] of [
      ['is the one that applied at its start', 1, [['pro']], 'pro'],
      ['is missing without a payment', 1, [], null],
      ['does not begin before its payment', 1, [['pro', { applies_from: SECOND }]], null],
      ['begins in the month of its payment', 1, [['pro', { applies_from: milliseconds(SECOND, -1) }]], 'pro'],
      ['ends with the paid time', 1, [['pro', { applies_until: FIRST }]], null],
      ['lasts to the end of the paid time', 1, [['pro', { applies_until: milliseconds(FIRST, 1) }]], 'pro'],
      ['is a larger one that was paid in it', 1, [['lite'], ['pro', { applies_from: inside }]], 'pro'],
      ['is not a smaller one that was paid in it', 1, [['pro'], ['lite', { applies_from: inside }]], 'pro'],
      ['is the latest of those at its start', 1, [['studio'], ['lite', { applies_from: FIRST }]], 'lite'],
      [
        'is the largest of several upgrades in it',
        1,
        [['lite'], ['studio', { applies_from: inside }], ['pro', { applies_from: milliseconds(inside, 1) }]],
        'studio',
      ],
      [
        'is not an upgrade of the last month of a year',
        11,
        [['lite'], ['pro', { applies_from: milliseconds(date('2036-12-31'), 1) }]],
        'lite',
      ],
      [
        'is an upgrade of the month before the last one',
        10,
        [['lite'], ['pro', { applies_from: milliseconds(date('2036-11-30'), 1) }]],
        'pro',
      ],
      [
        'is not an upgrade of the last month of the second year',
        23,
        [['lite'], ['pro', { applies_from: milliseconds(date('2037-12-31'), 1) }]],
        'lite',
      ],
      [
        'is an upgrade of the first month of the second year',
        12,
        [['lite'], ['pro', { applies_from: milliseconds(date('2037-01-31'), 1) }]],
        'pro',
      ],
      [
        'prefers the one with an invoice of two from the same time',
        1,
        [['studio', { stripe_invoice_id: null }], ['lite']],
        'lite',
      ],
      [
        'prefers the one with an invoice, also an earlier one',
        1,
        [['lite'], ['studio', { stripe_invoice_id: null }]],
        'lite',
      ],
      ['is the newer one of two invoices from the same time', 1, [['studio'], ['lite']], 'lite'],
      [
        'is not one whose payment was returned before its end',
        1,
        [['lite'], ['studio', { applies_from: FIRST, returned_at: milliseconds(SECOND, -1) }]],
        'lite',
      ],
      [
        'is one whose payment was returned at its end',
        1,
        [['lite'], ['studio', { applies_from: FIRST, returned_at: SECOND }]],
        'studio',
      ],
      [
        'is not an upgrade whose payment was returned before its end',
        1,
        [['lite'], ['pro', { applies_from: inside, returned_at: milliseconds(SECOND, -1) }]],
        'lite',
      ],
      [
        'is an upgrade whose payment was returned at its end',
        1,
        [['lite'], ['pro', { applies_from: inside, returned_at: SECOND }]],
        'pro',
      ],
      ['is one that was returned if no other is left', 1, [['lite', { returned_at: inside }]], 'lite'],
      [
        'is the smaller one that is left although a larger one was returned',
        1,
        [
          ['lite', { applies_from: FIRST }],
          ['studio', { applies_from: FIRST, returned_at: inside }],
        ],
        'lite',
      ],
      [
        'is the latest of those that were returned',
        1,
        [
          ['studio', { returned_at: inside }],
          ['lite', { applies_from: FIRST, returned_at: inside }],
        ],
        'lite',
      ],
      [
        'is the latest one, also if its payment was returned at its end',
        1,
        [['studio'], ['lite', { applies_from: FIRST, returned_at: SECOND }]],
        'lite',
      ],
      [
        'is not a returned upgrade if all payments were returned',
        1,
        [
          ['lite', { returned_at: inside }],
          ['pro', { applies_from: inside, returned_at: inside }],
        ],
        'lite',
      ],
    ] as [string, number, Plan[], string | null][]) {
      it(title, async () => {
        expect(await findPlan(month, plans)).to.equal(expected);
      });
    }
  });

  const renew = async (accounts: number[], until = NOW) =>
    (await database.call(RENEW_CREDIT_PERIODS, [accounts, until, NOW]))[0] as Row;

  describe('a renewal', () => {
    const END = date('2036-03-31');
    /** An account in the month 1 of a subscription to `pro`, with 300 plan credits. */
    const createAccount = async (row: Row = {}, subscriptionRow: Row = {}) => {
      const account = await database.account({
        plan_slug: 'pro',
        balance: 340,
        plan_credits: 300,
        topup_credits: 40,
        ledger_count: 5,
        generation_count: 9,
        period_index: 1,
        period_start: date('2036-02-29'),
        period_end: END,
        period_granted: 1_100,
        period_rollover: 7,
        period_used: 60,
        generation_count_at_period_start: 2,
        ...row,
      });
      const subscription = await createSubscription(account, subscriptionRow);
      await database.query('UPDATE accounts SET subscription_id = $1 WHERE id = $2', [subscription['id'], account]);
      await addPlan(subscription['id'], 'pro');
      return { account, uuid: subscription['uuid'] as string };
    };
    const ENTRY = 'number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at';
    const readEntries = (account: number) => database.rows('ledger_entries', account, ENTRY);
    const isRenewed = async (row: Row, subscriptionRow: Row = {}, until = END) =>
      (await renew([(await createAccount(row, subscriptionRow)).account], until))['accounts'] === 1;

    it('grants the next month, rolls over what is left and restarts the period', async () => {
      const { account, uuid } = await createAccount();
      const other = (await createAccount()).account;
      expect(await renew([account])).to.deep.equal({ accounts: 1, last_end: END, skipped: [] });
      const columns =
        'balance, plan_credits, topup_credits, ledger_count, period_index, period_start, period_end, period_granted, ' +
        'period_rollover, generation_count_at_period_start, period_used';
      expect(await database.readAccount(account, columns)).to.deep.equal({
        balance: 1_440,
        plan_credits: 1_400,
        topup_credits: 40,
        ledger_count: 8,
        period_index: 2,
        period_start: END,
        period_end: date('2036-04-30'),
        period_granted: 1_100,
        period_rollover: 300,
        generation_count_at_period_start: 9,
        period_used: 0,
      });
      const entry = (
        number: number,
        entry_type: string,
        amount: number,
        balance_after: number,
        description: string,
      ) => ({
        number,
        entry_type,
        amount,
        plan_amount: amount,
        balance_after,
        description,
        effect_key: `${entry_type}:${uuid}:2`,
        created_at: NOW,
      });
      expect(await readEntries(account)).to.deep.equal([
        entry(6, 'expiry', -300, 40, 'Unspent plan credits of the month'),
        entry(7, 'rollover', 300, 340, 'Rolled over from the month before'),
        entry(8, 'grant', 1_100, 1_440, 'Monthly credits: Pro plan'),
      ]);
      expect(await database.readAccount(other, 'period_index, balance')).to.deep.equal({
        period_index: 1,
        balance: 340,
      });
    });

    it('rolls over a month of credits at most', async () => {
      for (const [planCredits, rollover] of [
        [1_099, 1_099],
        [1_100, 1_100],
        [1_101, 1_100],
      ] as const) {
        const { account } = await createAccount({ plan_credits: planCredits, balance: planCredits + 40 });
        await renew([account]);
        expect(await database.readAccount(account, 'period_rollover, plan_credits, balance')).to.deep.equal({
          period_rollover: rollover,
          plan_credits: rollover + 1_100,
          balance: rollover + 1_140,
        });
      }
    });

    const numbers = async (row: Row) => {
      const { account } = await createAccount(row);
      await renew([account]);
      const { ledger_count: count } = await database.readAccount(account, 'ledger_count');
      return [
        count,
        ...(await database.rows('ledger_entries', account, 'number, entry_type, amount')).map(Object.values),
      ];
    };

    it('posts a grant alone if nothing is left, and nothing that rolls over without an earlier grant', async () => {
      expect(await numbers({ plan_credits: 0, balance: 40 })).to.deep.equal([6, [6, 'grant', 1_100]]);
      expect(await numbers({ plan_credits: 1, balance: 41 })).to.deep.equal([
        8,
        [6, 'expiry', -1],
        [7, 'rollover', 1],
        [8, 'grant', 1_100],
      ]);
      expect(await numbers({ period_granted: 0 })).to.deep.equal([7, [6, 'expiry', -300], [7, 'grant', 1_100]]);
    });

    it('grants the plan of the month that begins', async () => {
      const { account } = await createAccount();
      const [{ subscription_id: id }] = (await database.query('SELECT subscription_id FROM accounts WHERE id = $1', [
        account,
      ])) as [Row];
      await database.query('DELETE FROM subscription_plans WHERE subscription_id = $1', [id]);
      await addPlan(id, 'lite', { applies_until: END });
      await addPlan(id, 'starter', { applies_from: END, applies_until: date('2036-04-30') });
      await addPlan(id, 'studio', { applies_from: date('2036-04-30') });
      await renew([account]);
      expect(await database.readAccount(account, 'period_granted')).to.deep.equal({ period_granted: 400 });
    });

    it('is due at the end of the period, of an account with a plan that is paid for longer', async () => {
      expect(await isRenewed({})).to.equal(true);
      expect(await isRenewed({}, {}, milliseconds(END, -1))).to.equal(false);
      expect(await isRenewed({ plan_slug: null })).to.equal(false);
      expect(await isRenewed({}, { status: 'past_due' })).to.equal(false);
      expect(await isRenewed({}, { paid_until: END })).to.equal(false);
      expect(await isRenewed({}, { paid_until: milliseconds(END, 1) })).to.equal(true);
    });

    it('follows the current subscription of the account only', async () => {
      const { account } = await createAccount({}, { status: 'canceled' });
      const other = await createSubscription(account);
      await addPlan(other['id'], 'studio');
      expect((await renew([account]))['accounts']).to.equal(0);
    });

    it('counts the accounts, names the last end of their periods and those that are not due', async () => {
      const [one, other, early] = [
        await createAccount(),
        await createAccount({ period_end: milliseconds(END, -5) }),
        await createAccount({ period_end: milliseconds(NOW, 1) }),
      ].map(({ account }) => account) as [number, number, number];
      expect(await renew([one, other, early])).to.deep.equal({ accounts: 2, last_end: END, skipped: [String(early)] });
    });

    it('records an event for a webhook, once', async () => {
      const { account, uuid } = await createAccount({ webhook_count: 1 });
      await renew([account]);
      const events = () => database.rows('outbox_events', account, 'type, subject, created_at');
      expect(await events()).to.deep.equal([{ type: 'credits.granted', subject: `grant:${uuid}:2`, created_at: NOW }]);
      const quiet = (await createAccount()).account;
      await renew([quiet]);
      expect(await database.rows('outbox_events', quiet, 'type')).to.deep.equal([]);
      const again = await createAccount({ webhook_count: 1 });
      const known = {
        account_id: again.account,
        type: 'credits.granted',
        subject: `grant:${again.uuid}:2`,
        created_at: NOW,
      };
      await database.insert('outbox_events', known);
      expect((await renew([again.account]))['accounts']).to.equal(1);
    });

    it('lets credits.low be recorded again once the balance is at its threshold', async () => {
      const since = at(-1);
      const keeps = async (threshold: number | null) => {
        const { account } = await createAccount({ credits_low_since: since, credits_low_threshold: threshold });
        await renew([account]);
        return (await database.readAccount(account, 'credits_low_since'))['credits_low_since'];
      };
      expect(await keeps(1_440)).to.equal(null);
      expect(await keeps(1_441)).to.deep.equal(since);
      expect(await keeps(null)).to.equal(null);
      const { account } = await createAccount();
      await renew([account]);
      expect(await database.readAccount(account, 'credits_low_since')).to.deep.equal({ credits_low_since: null });
    });
  });
});

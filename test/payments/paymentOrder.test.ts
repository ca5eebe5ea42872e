import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { createSeededRandom } from '../fakes/seededRandom.ts';
import { type BillingService, startBillingService } from '../harness/billingService.ts';
import { enrollAffiliate } from '../harness/affiliates.ts';
import { readPaymentEndState } from '../harness/paymentEndState.ts';
import {
  CHOICES,
  drainWorlds,
  PAYMENT_ACTIONS,
  type PaymentAction,
  PaymentWorld,
  runBillingJobs,
} from '../harness/paymentWorld.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** Sequences between two checks of all invariants, which read the whole database. */
const CHECK_EVERY = 10;
/** Time between two runs of the jobs while days pass. */
const STEP_DAYS = 10;

/** Time between two actions. */
const PAUSE_MS = 2_000;

/** Limit for each sequence. Beside twenty busy processes, twenty of them took more than 400 s. */
const SEQUENCE_MAX_MS = 40_000;

/** Sequences to try, and the seed that generates them: see CONTRIBUTING.md. */
const RUNS = Number(process.env['PAYMENT_ORDER_RUNS'] ?? 20);
const SEED = Number(process.env['PAYMENT_ORDER_SEED'] ?? 1);

const types = Object.entries(PAYMENT_ACTIONS).map(([type, weight]) => ({ arbitrary: fc.constant(type), weight }));

const sequence = fc.record({
  actions: fc.array(
    fc.record({ type: fc.oneof(...types), which: fc.nat({ max: CHOICES - 1 }) }) as fc.Arbitrary<PaymentAction>,
    { minLength: 4, maxLength: 12, size: 'max' },
  ),
  order: fc.nat({ max: 1_000_000 }),
});

describe('payments of subscriptions', () => {
  let billing: BillingService;
  let affiliateId: number;
  before(async () => {
    billing = await startBillingService({ workers: 0 });
    const { affiliate } = await enrollAffiliate(billing.service.baseUrl);
    const [row] = await billing.service.sql('SELECT id FROM accounts WHERE email = $1', [affiliate.email]);
    affiliateId = row.id;
    // The test processes the events.
    billing.stripe.webhookUrl = '';
  });
  after(() => billing.service.stop());
  after(() => billing.stripe.stop());

  /** Creates an account that was referred by the affiliate. */
  const createAccount = async (): Promise<PaymentWorld['account']> => {
    const { service } = billing;
    const email = `${randomUUID()}@example.com`;
    const [account] = await service.sql(
      `INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at)
       VALUES (gen_random_uuid(), $1, 'google', 'complete', $2) RETURNING id, uuid, email`,
      [email, service.now],
    );
    await service.sql(INSERT_OWNERS);
    await service.sql(
      'INSERT INTO referrals (account_id, affiliate_id, clicked_at, created_at) VALUES ($1, $2, $3, $3)',
      [account.id, affiliateId, service.now],
    );
    return { ...account, id: Number(account.id) };
  };

  const readEndState = ({ account }: PaymentWorld) => readPaymentEndState(billing.service, account.id);

  const moveClock = (ms: number) => {
    const date = new Date(billing.service.now.getTime() + ms);
    return billing.service.moveClockTo(date, () => billing.stripe.advanceTo(date));
  };

  const passDays = async (worlds: PaymentWorld[], days: number) => {
    for (let passed = 0; passed < days; passed += STEP_DAYS) {
      const date = new Date(billing.service.now.getTime() + STEP_DAYS * DAY_MS);
      // Refunds and lost disputes end the renewal at Stripe: that cannot be decided after the charge.
      for (const world of worlds) if (world.renewsBefore(date)) await world.deliver();
      await moveClock(STEP_DAYS * DAY_MS);
      for (const world of worlds) await world.collect();
      await runBillingJobs();
      for (const world of worlds) await world.collect();
    }
  };

  it(`have the same end state, whatever the order and the delay of their events (${RUNS} sequences, seed ${SEED})`, async function () {
    this.timeout(RUNS * SEQUENCE_MAX_MS);
    const open: PaymentWorld[] = [];
    const check = async () => {
      await billing.service.checkIntegrity({ isDrained: true });
      await billing.checkAgainstStripe();
      for (const world of open.splice(0)) await world.end();
    };
    await fc.assert(
      fc.asyncProperty(sequence, async ({ actions, order }) => {
        const random = createSeededRandom(order);
        const worlds = [
          new PaymentWorld(billing, await createAccount(), random.fork('prompt'), false),
          new PaymentWorld(billing, await createAccount(), random.fork('late'), true),
        ];
        for (const world of worlds) await world.subscribe();
        for (const action of actions) {
          // Times at Stripe are in seconds: two actions of one second have no order.
          await moveClock(PAUSE_MS);
          if (action.type === '40 days') await passDays(worlds, 40);
          else if (action.type === '330 days') await passDays(worlds, 330);
          else if (action.type === 'spend') await spend(worlds, (action.which + 1) / CHOICES);
          else {
            const [prompt, late] = worlds as [PaymentWorld, PaymentWorld];
            const isDone = await prompt.perform(action);
            expect(await late.perform(action), `${action.type} is possible`).to.equal(isDone);
          }
        }
        for (const world of worlds) await world.closeDisputes(order % 2 === 0 ? 'won' : 'lost');
        await drainWorlds(worlds);
        const [prompt, late] = await Promise.all(worlds.map(readEndState));
        expect(late, `prompt ${JSON.stringify(prompt)}, late ${JSON.stringify(late)}`).to.deep.equal(prompt);
        open.push(...worlds);
        if (open.length >= 2 * CHECK_EVERY) await check();
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: process.env['PAYMENT_ORDER_SHRINK'] === undefined },
    );
    await check();
  });

  it('have the same end state after an outage of the workers in which a year ends with a downgrade', async function () {
    this.timeout(5 * SEQUENCE_MAX_MS);
    const random = createSeededRandom(SEED);
    const create = async (name: string) => new PaymentWorld(billing, await createAccount(), random.fork(name), true);
    const worlds = [await create('events first'), await create('months first')] as const;
    for (const world of worlds) {
      await world.subscribe();
      await world.perform({ type: 'upgrade', which: 0 });
      await world.deliver();
      await world.perform({ type: 'downgrade', which: 0 });
    }
    await passDays([...worlds], 330);
    await moveClock(40 * DAY_MS);
    await worlds[0].deliver();
    await runBillingJobs();
    await worlds[1].deliver();
    await drainWorlds([...worlds]);
    const [first, second] = await Promise.all(worlds.map(readEndState));
    expect(second).to.deep.equal(first);
    // The last month of the year was granted by the larger plan, and has rolled over to the first one of the smaller.
    for (const world of worlds) expect(await world.countSpendable()).to.equal(400 + 200);
    for (const world of worlds) await world.end();
  });

  for (const [when, minutes, owed] of [
    ['minutes', 20, 'refunded'],
    ['hours', 180, null],
  ] as const) {
    it(`have the same end state if a year ends ${when} after its renewal, before the renewal is seen or afterwards`, async () => {
      const random = createSeededRandom(SEED);
      const create = async (name: string) => new PaymentWorld(billing, await createAccount(), random.fork(name), true);
      const worlds = [await create('seen'), await create('not seen')] as const;
      for (const world of worlds) await world.subscribe();
      await passDays([...worlds], 360);
      for (const world of worlds) await world.deliver();
      // The invoice of the renewal is a draft for an hour.
      while (!worlds[0].isRenewed()) await moveClock(5 * MINUTE_MS);
      await worlds[0].deliver();
      expect(await worlds[0].countSpendable()).to.equal(400);
      await moveClock(minutes * MINUTE_MS);
      for (const world of worlds) await world.end();
      await drainWorlds([...worlds]);
      const [seen, notSeen] = await Promise.all(worlds.map(readEndState));
      expect(notSeen).to.deep.equal(seen);
      expect(seen).to.have.property('invoices').with.lengthOf(2).and.property('1').property('owed', owed);
      await billing.service.checkIntegrity({ isDrained: true });
    });
  }
});

/** Spends a part of the credits that are there whatever was delivered. */
async function spend(worlds: PaymentWorld[], part: number): Promise<void> {
  const credits = Math.floor(part * Math.min(...(await Promise.all(worlds.map((world) => world.countSpendable())))));
  if (credits > 0) for (const world of worlds) await world.spend(credits);
}

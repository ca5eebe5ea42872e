import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';

const TOPUP = '/api/billing/topup/';
const SETTINGS = '/api/billing/topup/settings/';

/** Credits for 5000 cents on each plan, and the plan's monthly credits. */
const PLANS: [string, number, number][] = [
  ['lite', 1666, 200],
  ['starter', 1666, 400],
  ['pro', 1896, 1100],
  ['studio', 2000, 3000],
];

const DEFAULTS = { auto_topup_enabled: false, auto_topup_amount_cents: 5000, auto_topup_threshold_credits: 0 };

const topUp = (customer: TestCustomer, body: unknown) => customer.request('POST', TOPUP, { body });
const change = (customer: TestCustomer, body: unknown) => customer.request('PATCH', SETTINGS, { body });
const readSettings = async (customer: TestCustomer) => (await customer.request('GET', SETTINGS)).body;
const switchPlan = (customer: TestCustomer, plan: string) =>
  customer.request('POST', '/api/billing/checkout/', { body: { plan } });

describe('top-ups', () => {
  const service = useTestService({ workers: 0 });

  const countTopups = async () => (await service.sql('SELECT count(*)::int AS count FROM topups'))[0].count as number;

  describe('manual top-ups in local keyless development', () => {
    for (const [plan, credits, granted] of PLANS) {
      it(`credit ${credits} credits for 5000 cents on ${plan} immediately, as a ledger entry of type topup`, async () => {
        const customer = await service.createCustomer(plan);
        const { status, body } = await topUp(customer, { amount_cents: 5000 });
        expect([status, body]).to.deep.equal([200, { checkout_url: null, activated: true }]);
        expect(await customer.ledger()).to.deep.equal([
          ['grant', granted],
          ['topup', credits],
        ]);
        expect(await customer.balance()).to.equal(granted + credits);
      });
    }

    it('use the rate of the current plan', async () => {
      const customer = await service.createCustomer('pro');
      await switchPlan(customer, 'lite');
      await topUp(customer, { amount_cents: 7777 });
      expect((await customer.ledger()).at(-1)).to.deep.equal(['topup', 2592]);
    });

    for (const [rawAmount, credits] of [
      ['5001', 1896],
      ['5e3', 1896],
      ['5000.0', 1896],
      ['1000000', 379_310],
    ] as const) {
      it(`accept ${rawAmount} cents`, async () => {
        const customer = await service.createCustomer('pro');
        const { status } = await customer.request('POST', TOPUP, { rawBody: `{"amount_cents": ${rawAmount}}` });
        expect(status).to.equal(200);
        expect(await customer.balance()).to.equal(1100 + credits);
      });
    }

    it('are not limited in number, and each has its own ledger entry', async () => {
      const customer = await service.createCustomer('pro');
      const responses = await Promise.all(Array.from({ length: 10 }, () => topUp(customer, { amount_cents: 5000 })));
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(10).fill(200));
      expect(await customer.balance()).to.equal(1100 + 10 * 1896);
    });

    it('return 402 subscription_required without a plan', async () => {
      const customer = await service.createCustomer(null);
      expectError(await topUp(customer, { amount_cents: 5000 }), 'subscription_required');
      expect(await customer.ledger()).to.deep.equal([]);
    });

    it('return 402 subscription_required when the paid year is over', async () => {
      const customer = await service.createCustomer('pro');
      service.fabricated.add('entitlement-matches-subscription');
      await service.sql(`UPDATE accounts SET spendable_until = now() WHERE email = $1`, [customer.email]);
      expectError(await topUp(customer, { amount_cents: 5000 }), 'subscription_required');
      expect(await customer.ledger()).to.deep.equal([['grant', 1100]]);
    });

    it('return 400 validation_error that names amount_cents for an invalid amount, and change nothing', async () => {
      const customer = await service.createCustomer('pro');
      const before = await countTopups();
      const amounts =
        '4999, 5000.5, "5000", 1e309, -1e309, -0, 0, -5000, null, [], [5000], {}, true, 1000001, 1e21, 5e-324, ""';
      for (const amount of amounts.split(', ')) {
        const response = await customer.request('POST', TOPUP, { rawBody: `{"amount_cents": ${amount}}` });
        expectError(response, 'validation_error', 'amount_cents');
      }
      for (const rawBody of ['{}', '', '{"amount": 5000}', '{"Amount_cents": 5000}']) {
        expectError(await customer.request('POST', TOPUP, { rawBody }), 'validation_error', 'amount');
      }
      expect(await customer.ledger()).to.deep.equal([['grant', 1100]]);
      expect(await countTopups()).to.equal(before);
    });
  });

  describe('settings', () => {
    for (const [plan, credits] of PLANS) {
      it(`are off, 5000 cents and a threshold of 0 at first, with a preview of ${credits} credits on ${plan}`, async () => {
        const response = await (await service.createCustomer(plan)).request('GET', SETTINGS);
        expect([response.status, response.body]).to.deep.equal([200, { ...DEFAULTS, preview_credits: credits }]);
      });
    }

    it('can be read without a plan, with a preview of 0', async () => {
      expect(await readSettings(await service.createCustomer(null))).to.deep.equal({ ...DEFAULTS, preview_credits: 0 });
    });

    const changes: [object, object][] = [
      [{ auto_topup_enabled: true }, {}],
      [{ auto_topup_enabled: false }, {}],
      [{ auto_topup_amount_cents: 10_000 }, { preview_credits: 3793 }],
      [{ auto_topup_amount_cents: 1_000_000 }, { preview_credits: 379_310 }],
      [{ auto_topup_threshold_credits: 250 }, {}],
      [{ auto_topup_threshold_credits: 0 }, {}],
      [
        { auto_topup_enabled: true, auto_topup_amount_cents: 5001, auto_topup_threshold_credits: 1 },
        { preview_credits: 1896 },
      ],
      [{}, {}],
    ];
    for (const [sent, seen] of changes) {
      it(`accept ${JSON.stringify(sent)}, return all settings, and store them`, async () => {
        const customer = await service.createCustomer('pro');
        const expected = { ...DEFAULTS, preview_credits: 1896, ...sent, ...seen };
        const { status, body } = await change(customer, sent);
        expect([status, body]).to.deep.equal([200, expected]);
        expect(await readSettings(customer)).to.deep.equal(expected);
      });
    }

    it('keep the values that a change does not name', async () => {
      const customer = await service.createCustomer('pro');
      await change(customer, { auto_topup_enabled: true, auto_topup_amount_cents: 6000 });
      await change(customer, { auto_topup_threshold_credits: 12 });
      await change(customer, {});
      const expected = { auto_topup_enabled: true, auto_topup_amount_cents: 6000, auto_topup_threshold_credits: 12 };
      expect(await readSettings(customer)).to.deep.equal({ ...expected, preview_credits: 2275 });
    });

    it('preview the rate of another plan after a plan change', async () => {
      const customer = await service.createCustomer('lite');
      for (const [plan, credits] of PLANS.toReversed()) {
        await switchPlan(customer, plan);
        expect((await readSettings(customer)).preview_credits, plan).to.equal(credits);
      }
    });

    it('return 402 subscription_required for switching on without a plan, and change nothing', async () => {
      const customer = await service.createCustomer(null);
      const all = { auto_topup_enabled: true, auto_topup_amount_cents: 9000, auto_topup_threshold_credits: 9 };
      expectError(await change(customer, { auto_topup_enabled: true }), 'subscription_required');
      expectError(await change(customer, all), 'subscription_required');
      expect(await readSettings(customer)).to.deep.equal({ ...DEFAULTS, preview_credits: 0 });
    });

    it('can be changed and switched off without a plan', async () => {
      const customer = await service.createCustomer(null);
      const sent = { auto_topup_enabled: false, auto_topup_amount_cents: 9000, auto_topup_threshold_credits: 9 };
      expect((await change(customer, sent)).body).to.deep.equal({ ...sent, preview_credits: 0 });
    });

    const refused: Record<string, string[]> = {
      auto_topup_enabled: ['"true"', '1', '0', 'null', '[]', '{}', '"on"'],
      auto_topup_amount_cents: ['4999', '5000.5', '"5000"', '1e309', '-0', 'null', '[]', '{}', 'true', '1000001'],
      auto_topup_threshold_credits: ['-1', '0.5', '"10"', '1e309', '-1e309', 'null', '[]', '{}', 'true', '1e10'],
    };
    for (const [field, values] of Object.entries(refused)) {
      it(`return 400 validation_error that names ${field} for an invalid value, and change nothing`, async () => {
        const customer = await service.createCustomer('pro');
        const rest: Record<string, unknown> = {
          auto_topup_enabled: true,
          auto_topup_amount_cents: 7000,
          auto_topup_threshold_credits: 70,
        };
        delete rest[field];
        const others = JSON.stringify(rest).slice(1, -1);
        for (const value of values) {
          for (const rawBody of [
            `{"${field}": ${value}}`,
            `{${others}, "${field}": ${value}}`,
            `{"${field}": ${value}, ${others}}`,
          ]) {
            expectError(await customer.request('PATCH', SETTINGS, { rawBody }), 'validation_error', field);
          }
        }
        expect(await readSettings(customer)).to.deep.equal({ ...DEFAULTS, preview_credits: 1896 });
      });
    }

    it('belong to one account', async () => {
      const [one, other] = [await service.createCustomer('pro'), await service.createCustomer('pro')];
      await change(one, { auto_topup_enabled: true, auto_topup_threshold_credits: 5 });
      expect(await readSettings(other)).to.deep.equal({ ...DEFAULTS, preview_credits: 1896 });
    });
  });
});

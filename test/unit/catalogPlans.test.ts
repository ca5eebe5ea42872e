import { expect } from 'chai';
import { parsePlans } from '../../shared/lib/catalog/parsePlans.ts';
import { ConfigError } from '../../shared/lib/config.ts';
import { topupCredits } from '../../shared/spec/topupCredits.ts';

const SOLO = { name: 'Solo', price_monthly_cents: 900, monthly_credits: 300, parallel_limit: 1 };

const buildPlan = (change: object) => ({ solo: { ...SOLO, ...change } });

const buildPlans = (count: number, change: object = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`plan-${index}`, { ...SOLO, ...change }]));

function getError(value: unknown): string {
  try {
    parsePlans(value);
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  return '';
}

/** Values of CATALOG/plans, and what follows that path in the message. */
const REFUSED: [value: unknown, message: RegExp][] = [
  [[SOLO], /^ must be an object\.$/],
  [null, /^ must be an object\.$/],
  [{}, /^ must contain a plan, or be left out for the default plans\.$/],
  [buildPlans(101, { hidden: true }), /^ must contain at most 100 plans\.$/],
  [buildPlans(11), /^ must contain at most 10 plans that are not hidden, because /],
  [buildPlan({ hidden: true }), /^ must contain a plan that is not hidden\.$/],
  [
    { solo: { ...SOLO, highlight: true }, team: { ...SOLO, highlight: true } },
    /^\/team\/highlight must not be true, because that of solo is\.$/,
  ],
  [{ Solo: SOLO }, /^: the name "Solo" must be up to 40 characters of a-z, /],
  [{ solo_1: SOLO }, /^: the name "solo_1" must/],
  [{ 1: SOLO }, /^: the name "1" must/],
  [{ 'solo-': SOLO }, /^: the name "solo-" must/],
  [{ ['a'.repeat(41)]: SOLO }, /^: the name "a{41}" must/],
  [{ '': SOLO }, /^: the name "" must/],
  [JSON.parse('{"__proto__":{}}'), /^: the name "__proto__" must/],
  [{ solo: 'Solo' }, /^\/solo must be an object\.$/],
  [buildPlan({ credits: 300 }), /^\/solo has no field "credits"; allowed fields are name, /],
  [buildPlan({ price_yearly_cents: 9_000 }), /^\/solo has no field "price_yearly_cents"/],
  [buildPlan({ name: undefined }), /^\/solo\/name must be a text of 1 to 40 characters /],
  [buildPlan({ name: '' }), /^\/solo\/name must be a text/],
  [buildPlan({ name: ' Solo ' }), /^\/solo\/name must be .+ without spaces/],
  [buildPlan({ name: 'Solo\nplan' }), /^\/solo\/name must be .+ on one line/],
  [buildPlan({ name: 'So\u0000lo' }), /^\/solo\/name must/],
  [buildPlan({ name: 'a'.repeat(41) }), /^\/solo\/name must/],
  [
    buildPlan({ price_monthly_cents: undefined }),
    /^\/solo\/price_monthly_cents must be a whole number from 5 to 8333333\.$/,
  ],
  [buildPlan({ price_monthly_cents: 0 }), /^\/solo\/price_monthly_cents must/],
  [buildPlan({ price_monthly_cents: 9.5 }), /^\/solo\/price_monthly_cents must/],
  [buildPlan({ price_monthly_cents: '900' }), /^\/solo\/price_monthly_cents/],
  [buildPlan({ price_monthly_cents: 8_333_334 }), /^\/solo\/price_monthly_cents/],
  [buildPlan({ monthly_credits: 0 }), /^\/solo\/monthly_credits must be a whole number from 1 /],
  [buildPlan({ monthly_credits: 1e10 }), /^\/solo\/monthly_credits must/],
  [buildPlan({ parallel_limit: 0 }), /^\/solo\/parallel_limit must be .+ 1000\.$/],
  [buildPlan({ parallel_limit: null }), /^\/solo\/parallel_limit must/],
  [buildPlan({ features: 'All' }), /^\/solo\/features must be a list of 1 to 12 values\.$/],
  [buildPlan({ features: [] }), /^\/solo\/features must be a list/],
  [buildPlan({ features: ['All', ''] }), /^\/solo\/features\/1 must be a text/],
  [buildPlan({ highlight: 'yes' }), /^\/solo\/highlight must be true or false\.$/],
  [buildPlan({ hidden: 0 }), /^\/solo\/hidden must be true or false\.$/],
  [
    { ...buildPlan({ hidden: true, highlight: true }), team: SOLO },
    /^\/solo\/highlight must not be true, because the plan is hidden\.$/,
  ],
  [
    buildPlan({ price_monthly_cents: 50_001, monthly_credits: 10 }),
    /^\/solo\/monthly_credits must be larger: .+ 5000 cents would buy no credit\.$/,
  ],
  [
    buildPlan({ price_monthly_cents: 5, monthly_credits: 501 }),
    /^\/solo\/monthly_credits must be smaller: .+ more than 100000000 credits\.$/,
  ],
];

describe('the plans of a CATALOG', () => {
  it('have an annual price of twelve months, features that follow from their terms, and their order', () => {
    const plans = parsePlans({
      team: { ...SOLO, name: 'Team', parallel_limit: 12, features: ['Everything'], highlight: true },
      solo: SOLO,
      old: { ...SOLO, name: 'Old', hidden: true },
    });
    expect(plans.map(({ slug, hidden, highlight }) => [slug, hidden, highlight])).to.deep.equal([
      ['team', false, true],
      ['solo', false, false],
      ['old', true, false],
    ]);
    expect(plans[0]?.features).to.deep.equal(['Everything']);
    expect(plans[1]).to.deep.equal({
      slug: 'solo',
      name: 'Solo',
      priceMonthlyCents: 900,
      priceYearlyCents: 10_800,
      monthlyCredits: 300,
      parallelLimit: 1,
      features: ['300 credits every month', '1 generation at a time', 'REST API access with personal keys'],
      highlight: false,
      hidden: false,
    });
  });

  it('may be at the bounds of prices, credits and top-up rates', () => {
    for (const change of [
      { price_monthly_cents: 5, monthly_credits: 500 },
      { price_monthly_cents: 8_333_333, monthly_credits: 10_000_000, parallel_limit: 1_000 },
      { price_monthly_cents: 50_000, monthly_credits: 10, name: '\u{1F98A}'.repeat(40) },
    ]) {
      const [plan] = parsePlans(buildPlan(change));
      expect(plan && topupCredits(5_000, plan)).to.be.within(1, 2_147_483_647);
      expect(plan && topupCredits(1_000_000, plan)).to.be.within(1, 100_000_000);
    }
  });

  for (const [value, message] of REFUSED) {
    it(`are rejected with "CATALOG/plans${message.source}": ${JSON.stringify(value).slice(0, 80)}`, () => {
      const [place, rest] = getError(value).split(/(?<=^CATALOG\/plans)/);
      expect(place).to.equal('CATALOG/plans');
      expect(rest).to.match(message);
    });
  }
});

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

const REFUSED: [string, unknown, RegExp][] = [
  ['a list', [SOLO], /^CATALOG\/plans must be an object\.$/],
  ['null', null, /^CATALOG\/plans must be an object\.$/],
  ['no plan', {}, /^CATALOG\/plans must contain a plan, or be left out for the default plans\.$/],
  ['101 plans', buildPlans(101, { hidden: true }), /^CATALOG\/plans must contain at most 100 plans\.$/],
  ['11 plans on sale', buildPlans(11), /^CATALOG\/plans must contain at most 10 plans that are not hidden, because /],
  ['hidden plans only', buildPlan({ hidden: true }), /^CATALOG\/plans must contain a plan that is not hidden\.$/],
  [
    'two plans to recommend',
    { solo: { ...SOLO, highlight: true }, team: { ...SOLO, highlight: true } },
    /^CATALOG\/plans\/team\/highlight must not be true, because that of solo is\.$/,
  ],
  ['an upper-case slug', { Solo: SOLO }, /^CATALOG\/plans: the name "Solo" must be up to 40 characters of a-z, /],
  ['a slug with an underscore', { solo_1: SOLO }, /^CATALOG\/plans: the name "solo_1" must/],
  ['a slug that is a number', { 1: SOLO }, /^CATALOG\/plans: the name "1" must/],
  ['a slug that ends with a hyphen', { 'solo-': SOLO }, /^CATALOG\/plans: the name "solo-" must/],
  ['a slug of 41 characters', { ['a'.repeat(41)]: SOLO }, /^CATALOG\/plans: the name "a{41}" must/],
  ['an empty slug', { '': SOLO }, /^CATALOG\/plans: the name "" must/],
  ['a slug that objects inherit', JSON.parse('{"__proto__":{}}'), /^CATALOG\/plans: the name "__proto__" must/],
  ['a plan that is a text', { solo: 'Solo' }, /^CATALOG\/plans\/solo must be an object\.$/],
  [
    'an unknown field',
    buildPlan({ credits: 300 }),
    /^CATALOG\/plans\/solo has no field "credits"; allowed fields are name, /,
  ],
  [
    'a yearly price',
    buildPlan({ price_yearly_cents: 9_000 }),
    /^CATALOG\/plans\/solo has no field "price_yearly_cents"/,
  ],
  ['no name', buildPlan({ name: undefined }), /^CATALOG\/plans\/solo\/name must be a text of 1 to 40 characters /],
  ['an empty name', buildPlan({ name: '' }), /^CATALOG\/plans\/solo\/name must be a text/],
  ['a name between spaces', buildPlan({ name: ' Solo ' }), /^CATALOG\/plans\/solo\/name must be .+ without spaces/],
  ['a name of two lines', buildPlan({ name: 'Solo\nplan' }), /^CATALOG\/plans\/solo\/name must be .+ on one line/],
  ['a name with a control character', buildPlan({ name: 'So\u0000lo' }), /^CATALOG\/plans\/solo\/name must/],
  ['a name of 41 characters', buildPlan({ name: 'a'.repeat(41) }), /^CATALOG\/plans\/solo\/name must/],
  [
    'no price',
    buildPlan({ price_monthly_cents: undefined }),
    /^CATALOG\/plans\/solo\/price_monthly_cents must be a whole number from 5 to 8333333\.$/,
  ],
  ['a free plan', buildPlan({ price_monthly_cents: 0 }), /^CATALOG\/plans\/solo\/price_monthly_cents must/],
  ['a price in dollars', buildPlan({ price_monthly_cents: 9.5 }), /^CATALOG\/plans\/solo\/price_monthly_cents must/],
  ['a price that is a text', buildPlan({ price_monthly_cents: '900' }), /^CATALOG\/plans\/solo\/price_monthly_cents/],
  ['a price of millions', buildPlan({ price_monthly_cents: 8_333_334 }), /^CATALOG\/plans\/solo\/price_monthly_cents/],
  [
    'no credits',
    buildPlan({ monthly_credits: 0 }),
    /^CATALOG\/plans\/solo\/monthly_credits must be a whole number from 1 /,
  ],
  ['credits beyond a balance', buildPlan({ monthly_credits: 1e10 }), /^CATALOG\/plans\/solo\/monthly_credits must/],
  [
    'no parallel generation',
    buildPlan({ parallel_limit: 0 }),
    /^CATALOG\/plans\/solo\/parallel_limit must be .+ 1000\.$/,
  ],
  ['an unlimited plan', buildPlan({ parallel_limit: null }), /^CATALOG\/plans\/solo\/parallel_limit must/],
  [
    'features as a text',
    buildPlan({ features: 'All' }),
    /^CATALOG\/plans\/solo\/features must be a list of 1 to 12 values\.$/,
  ],
  ['no features', buildPlan({ features: [] }), /^CATALOG\/plans\/solo\/features must be a list/],
  [
    'a feature that is empty',
    buildPlan({ features: ['All', ''] }),
    /^CATALOG\/plans\/solo\/features\/1 must be a text/,
  ],
  [
    'a highlight that is a text',
    buildPlan({ highlight: 'yes' }),
    /^CATALOG\/plans\/solo\/highlight must be true or false\.$/,
  ],
  ['hidden as a number', buildPlan({ hidden: 0 }), /^CATALOG\/plans\/solo\/hidden must be true or false\.$/],
  [
    'a hidden plan to recommend',
    { ...buildPlan({ hidden: true, highlight: true }), team: SOLO },
    /^CATALOG\/plans\/solo\/highlight must not be true, because the plan is hidden\.$/,
  ],
  [
    'a rate at which a top-up buys nothing',
    buildPlan({ price_monthly_cents: 50_001, monthly_credits: 10 }),
    /^CATALOG\/plans\/solo\/monthly_credits must be larger: .+ 5000 cents would buy no credit\.$/,
  ],
  [
    'a rate at which a top-up exceeds a balance',
    buildPlan({ price_monthly_cents: 5, monthly_credits: 501 }),
    /^CATALOG\/plans\/solo\/monthly_credits must be smaller: .+ more than 100000000 credits\.$/,
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

  for (const [what, value, message] of REFUSED) {
    it(`are rejected for ${what}, with one sentence that names the path`, () => {
      expect(getError(value)).to.match(message);
    });
  }
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import Stripe from 'stripe';
import { EVENT_TYPES } from '../../shared/gateways/payments/stripeWebhook.ts';
import { DEFAULT_PLANS } from '../../shared/spec/plans.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';
import { runBundled } from '../harness/builtPrograms.ts';
import { StripeFixture } from '../harness/stripeFixture.ts';

describe('the setup of Stripe', () => {
  const fixture = new StripeFixture();
  before(() => fixture.start());
  afterEach(() => fixture.fake.reset());
  after(() => fixture.fake.stop());

  describe('npm run stripe:setup', () => {
    it('creates all objects once, and prints the settings for .env', async () => {
      const empty = await new FakeStripe({ isEmpty: true }).start();
      const env = { STRIPE_SECRET_KEY: empty.secretKey, STRIPE_API_BASE: empty.url, BASE_URL: 'https://example.com/' };
      const first = await runStripeSetup(env);
      expect(first.status, first.stderr).to.equal(0);
      const prices = empty.store.list('price').toReversed();
      const [configuration] = empty.store.list('billing_portal.configuration');
      expect(first.stdout.trim().split('\n')).to.deep.equal([
        'STRIPE_WEBHOOK_SECRET=whsec_standin',
        'STRIPE_CONNECT_WEBHOOK_SECRET=whsec_standin',
        ...DEFAULT_PLANS.map(({ slug }, index) => `STRIPE_PRICE_${slug.toUpperCase()}=${prices[index]?.id}`),
        `STRIPE_PORTAL_CONFIGURATION=${configuration?.id}`,
      ]);
      const [connected, endpoint] = empty.store.list('webhook_endpoint');
      expect(endpoint).to.include({
        url: 'https://example.com/api/billing/webhooks/processor/',
        api_version: Stripe.API_VERSION,
      });
      expect(endpoint?.enabled_events).to.have.members([...EVENT_TYPES]);
      expect(connected?.url).to.equal(endpoint?.url);
      expect(connected?.enabled_events).to.deep.equal(['account.updated']);
      // This parameter makes it a webhook for connected accounts; Stripe does not return it.
      expect(
        empty.requests.filter(({ params }) => (params as Record<string, unknown>)['connect'] === 'true'),
      ).to.have.length(1);
      expect(prices.map(({ unit_amount: cents }) => cents)).to.deep.equal([7_200, 14_400, 34_800, 90_000]);
      expect(configuration?.features.subscription_update).to.deep.include({
        proration_behavior: 'always_invoice',
        schedule_at_period_end: { conditions: [{ type: 'decreasing_item_amount' }] },
      });

      const made = empty.requests.filter(({ name }) => name.endsWith('.create')).length;
      const second = await runStripeSetup(env);
      expect(second.stdout.trim().split('\n')).to.deep.equal(first.stdout.trim().split('\n').slice(2));
      expect(empty.requests.filter(({ name }) => name.endsWith('.create'))).to.have.length(made);
      await empty.stop();
    });

    it('creates the prices of the plans of CATALOG, and offers those in the portal that are not hidden', async () => {
      const empty = await new FakeStripe({ isEmpty: true }).start();
      const terms = { price_monthly_cents: 900, monthly_credits: 300, parallel_limit: 2 };
      const plans = { 'small-team': { ...terms, name: 'Team' }, solo: { ...terms, name: 'Solo', hidden: true } };
      const env = {
        STRIPE_SECRET_KEY: empty.secretKey,
        STRIPE_API_BASE: empty.url,
        CATALOG: JSON.stringify({ plans }),
      };
      const { status, stdout, stderr } = await runStripeSetup(env);
      expect(status, stderr).to.equal(0);
      const [team, solo] = empty.store.list('price').toReversed();
      expect(stdout).to.include(`STRIPE_PRICE_SMALL_TEAM=${team?.id}\nSTRIPE_PRICE_SOLO=${solo?.id}\n`);
      expect([team?.unit_amount, solo?.lookup_key]).to.deep.equal([10_800, 'genmeter_solo_yearly']);
      const [configuration] = empty.store.list('billing_portal.configuration');
      expect(configuration?.features.subscription_update.products).to.have.length(1);
      expect((await runStripeSetup({ ...env, CATALOG: '{"plans":{}}' })).stderr).to.include(
        'CATALOG/plans must contain',
      );
      await empty.stop();
    });

    it('replaces a price that has the wrong amount', async () => {
      const other = await new FakeStripe().start();
      const price = other.store.get('price', other.prices.pro);
      price.unit_amount = 1_000;
      const env = { STRIPE_SECRET_KEY: other.secretKey, STRIPE_API_BASE: other.url };
      const { stdout, stderr } = await runStripeSetup(env);
      expect(stdout).to.include(`STRIPE_PRICE_LITE=${other.prices.lite}`).and.to.not.include(other.prices.pro);
      expect(stderr).to.include(`it replaces ${other.prices.pro}`);
      expect(price.lookup_key).to.equal(null);
      await other.stop();
    });

    it('creates no webhook on localhost, and prints the commands to use there', async () => {
      const env = { STRIPE_SECRET_KEY: fixture.fake.secretKey, STRIPE_API_BASE: fixture.fake.url, PORT: '3100' };
      const { status, stdout, stderr } = await runStripeSetup(env);
      expect([status, stdout.includes('WEBHOOK')]).to.deep.equal([0, false]);
      expect(stderr).to.include(
        'stripe listen --forward-to http://localhost:3100/api/billing/webhooks/processor/ --events checkout.',
      );
      expect(stderr).to.include('stripe listen --forward-connect-to http://localhost:3100/');
    });

    it('prints one sentence about a missing or wrong setting', async () => {
      const good = { STRIPE_SECRET_KEY: fixture.fake.secretKey, STRIPE_API_BASE: fixture.fake.url };
      const bad: [Record<string, string>, RegExp][] = [
        [{ STRIPE_SECRET_KEY: '' }, /^STRIPE_SECRET_KEY is not set: .+\.$/m],
        [{ STRIPE_SECRET_KEY: 'pk_test_1' }, /^STRIPE_SECRET_KEY must be a secret key/m],
        [{ STRIPE_SECRET_KEY: 'sk_test_other' }, /^Stripe rejected STRIPE_SECRET_KEY: /m],
        [{ BASE_URL: 'example.com' }, /^BASE_URL must be a URL such as/m],
        [{ STRIPE_API_BASE: 'http://127.0.0.1:1' }, /^Stripe does not respond: /m],
      ];
      for (const [env, sentence] of bad) {
        const { status, stdout, stderr } = await runStripeSetup({ ...good, ...env });
        expect([status, stdout]).to.deep.equal([1, '']);
        expect(stderr).to.match(sentence);
      }
      expect((await runStripeSetup({}, ['--help'])).stdout).to.include('STRIPE_SECRET_KEY');
      expect((await runStripeSetup({}, ['--hlep'])).stderr).to.match(/^Unknown option '--hlep'\./);
    });
  });
});

/** Runs the script in an empty folder without a `.env`. */
async function runStripeSetup(env: Record<string, string>, args: string[] = []) {
  const cwd = await mkdtemp(join(tmpdir(), 'stripe-setup-'));
  const { status, out, err } = await runBundled('stripeSetup', args, { cwd, env });
  await rm(cwd, { recursive: true });
  return { status, stdout: out, stderr: err };
}

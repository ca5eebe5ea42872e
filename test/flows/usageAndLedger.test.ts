import { expect } from 'chai';
import { IMAGE } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectTimestamp, UUID } from '../harness/errorEnvelope.ts';
import { seedImages } from '../harness/seeds.ts';

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

describe('usage', () => {
  const service = useTestService();
  beforeEach(() => {
    Object.assign(service.upstream, { outcome: 'succeed', submit: undefined });
  });

  describe('summary', () => {
    it('has a null plan and no credits without a subscription', async () => {
      const customer = await service.createCustomer(null);
      const { status, body } = await customer.request('GET', '/api/usage/summary/');
      expect(status).to.equal(200);
      expect(body).to.have.all.keys('plan', 'credits', 'jobs', 'history', 'by_model');
      expect(body.plan).to.equal(null);
      expect(body.credits).to.include({ balance: 0, used_this_period: 0, granted_this_period: 0, rollover: 0 });
      expect(body.jobs).to.deep.equal({ in_flight: 0, parallel_limit: 0 });
      expect(body.by_model).to.deep.equal([]);
    });

    it('shows the plan, and the current monthly credit period', async () => {
      const customer = await service.createCustomer('pro');
      const { body } = await customer.requestWithSession('GET', '/api/usage/summary/');
      expect(body.plan).to.deep.equal({
        slug: 'pro',
        name: 'Pro',
        monthly_credits: 1100,
        parallel_limit: 5,
        price_monthly_cents: 2900,
      });
      const { period_start: start, period_end: end, ...credits } = body.credits;
      expect(credits).to.deep.equal({ balance: 1100, used_this_period: 0, granted_this_period: 1100, rollover: 0 });
      for (const moment of [start, end]) expectTimestamp(moment);
      expect((Date.parse(end) - Date.parse(start)) / DAY_MS).to.be.within(28, 31);
      expect(body.jobs).to.deep.equal({ in_flight: 0, parallel_limit: 5 });
    });

    it('counts burns net of refunds, by day and by model', async () => {
      const customer = await service.createCustomer('pro');
      const [video, image] = [await customer.createVideo(), await customer.createImage()];
      await Promise.all([customer.waitForEnd(video.uuid), customer.waitForEnd(image.uuid)]);
      service.upstream.submit = 'refuse';
      expect((await customer.waitForEnd((await customer.createImage()).uuid)).status).to.equal('failed');

      const { body } = await customer.request('GET', '/api/usage/summary/');
      expect(body.credits).to.include({ balance: 1057, used_this_period: 43, granted_this_period: 1100 });
      expect(body.by_model).to.deep.equal([
        { model: 'Image model', credits: 8, count: 2 },
        { model: 'Video model', credits: 35, count: 1 },
      ]);
      expect(body.history.at(-1)).to.deep.equal({ date: daysAgo(0), credits_used: 43, generations: 3 });
      expect(body.jobs.in_flight).to.equal(0);
    });

    it('has a history of 30 UTC days, today last, days without use as zeros', async () => {
      const customer = await service.createCustomer('pro');
      await seedImages(service, customer, 3, 30);
      await seedImages(service, customer, 5, 29);
      await seedImages(service, customer, 7, 1);
      await customer.createGeneration(IMAGE);
      const { history, by_model: byModel } = (await customer.request('GET', '/api/usage/summary/')).body;
      expect(history.map((day: { date: string }) => day.date)).to.deep.equal(
        Array.from({ length: 30 }, (_, index) => daysAgo(29 - index)),
      );
      const used = history.filter((day: { generations: number }) => day.generations > 0);
      expect(used).to.deep.equal([
        { date: daysAgo(29), credits_used: 5, generations: 5 },
        { date: daysAgo(1), credits_used: 7, generations: 7 },
        { date: daysAgo(0), credits_used: 8, generations: 1 },
      ]);
      expect(history[1]).to.deep.equal({ date: daysAgo(28), credits_used: 0, generations: 0 });
      expect(byModel).to.deep.equal([{ model: 'Image model', credits: 23, count: 16 }]);
    });
  });

  describe('ledger', () => {
    it('has entries with uuid, entry_type, signed amount, running balance, description and created_at', async () => {
      const customer = await service.createCustomer('lite');
      await customer.createImage();
      const { status, body } = await customer.request('GET', '/api/ledger/');
      expect(status).to.equal(200);
      const shown = body.data.map(({ uuid, created_at: createdAt, description, ...rest }: Record<string, string>) => {
        expect(uuid).to.match(UUID);
        expectTimestamp(createdAt);
        expect(description).to.be.a('string').with.length.above(0);
        return rest;
      });
      expect(shown).to.deep.equal([
        { entry_type: 'burn', amount: -8, balance_after: 192 },
        { entry_type: 'grant', amount: 200, balance_after: 200 },
      ]);
    });

    it('is paginated newest first, 20 per page', async () => {
      const customer = await service.createCustomer('pro');
      await seedImages(service, customer, 44);
      const pages = await Promise.all([1, 2, 3, 4].map((page) => customer.request('GET', `/api/ledger/?page=${page}`)));
      expect(pages.map(({ body }) => body.data.length)).to.deep.equal([20, 20, 5, 0]);
      const entries = pages.flatMap(({ body }) => body.data);
      expect(new Set(entries.map(({ uuid }) => uuid)).size).to.equal(45);
      expect(entries.map((entry) => entry.balance_after)).to.deep.equal(Array.from({ length: 45 }, (_, i) => 1056 + i));
      expect(pages[1]?.body.pagination).to.deep.equal({
        next: `${service.baseUrl}/api/ledger/?page=3`,
        previous: `${service.baseUrl}/api/ledger/?page=1`,
        current_page: 2,
        total_pages: 3,
        total_items: 45,
      });
    });

    it('is append-only', async () => {
      const customer = await service.createCustomer('lite');
      const entryOf = `account_id = (SELECT id FROM accounts WHERE email = '${customer.email}')`;
      for (const attempt of [
        `UPDATE ledger_entries SET amount = 1000000 WHERE ${entryOf}`,
        `DELETE FROM ledger_entries WHERE ${entryOf}`,
        'TRUNCATE ledger_entries',
      ]) {
        const rejection = await service.sql(attempt).then(String, (error: Error) => error.message);
        expect(rejection).to.match(/append-only/);
      }
      expect(await customer.ledger()).to.deep.equal([['grant', 200]]);
    });
  });
});

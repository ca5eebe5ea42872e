import { expect } from 'chai';
import {
  ageAutoTopups,
  changeTopupSettings,
  enableAutoTopups,
  LONG_VIDEO,
  sweepAutoTopups,
} from '../harness/autoTopups.ts';
import { seedImages } from '../harness/seeds.ts';
import { type TestCustomer, IMAGE } from '../harness/apiClient.ts';
import { withQueue } from '../harness/jobs.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { runDueTasks } from '../harness/tasks.ts';

/** Returns the credits of the customer's top-ups, in order. */
async function listTopupCredits(customer: TestCustomer): Promise<number[]> {
  return (await customer.ledger()).filter(([type]) => type === 'topup').map(([, amount]) => amount);
}

describe('automatic top-ups', () => {
  const service = useTestService({ apis: 2, workers: 2 });
  beforeEach(() => {
    service.upstream.outcome = 'succeed';
  });

  /** Creates a subscriber with automatic top-ups of 5000 cents. */
  async function customerOn(plan: string): Promise<TestCustomer> {
    const customer = await service.createCustomer(plan);
    await enableAutoTopups(customer);
    return customer;
  }

  const anHourPasses = (customer: TestCustomer) => ageAutoTopups(service, customer);
  /** Spends all but so many credits. */
  const spendDownTo = async (customer: TestCustomer, rest: number) =>
    seedImages(service, customer, (await customer.balance()) - rest);

  const sweep = () => sweepAutoTopups(service);

  /** Runs work, and deletes the job that it enqueues for an automatic top-up. */
  const losingTheJob = (work: () => Promise<void>) =>
    withQueue(service, 'billing', async (queue) => {
      await queue.pause();
      await work();
      const enqueued = async () => (await queue.getJobs(['wait'])).filter(({ name }) => name === 'autoTopups.charge');
      await eventually('enqueued', async () => (await enqueued()).length > 0);
      await Promise.all((await enqueued()).map((job) => job.remove()));
      await queue.resume();
    });

  describe('on a create that the balance cannot cover', () => {
    it('buy credits, and the create succeeds', async () => {
      const customer = await customerOn('lite');
      const films = [await customer.createGeneration(LONG_VIDEO), await customer.createGeneration(LONG_VIDEO)];
      for (const { body } of films) expect((await customer.waitForEnd(body.uuid)).status).to.equal('succeeded');
      expect(await customer.balance()).to.equal(60);
      const third = await customer.createGeneration(LONG_VIDEO);
      expect([third.status, third.body.status]).to.deep.equal([201, 'queued']);
      expect(await customer.ledger()).to.deep.equal([
        ['grant', 200],
        ['burn', -70],
        ['burn', -70],
        ['topup', 1666],
        ['burn', -70],
      ]);
      expect((await customer.waitForEnd(third.body.uuid)).status).to.equal('succeeded');
      // The lists are in the order of the charges, and the burn is later than the top-up that the create waited for.
      const [burn, topup] = (await customer.request('GET', '/api/ledger/')).body.data;
      expect([burn.created_at, third.body.created_at].every((at) => at >= topup.created_at)).to.equal(true);
    });

    it('buy for the configured amount', async () => {
      const customer = await customerOn('pro');
      await changeTopupSettings(customer, { auto_topup_amount_cents: 12_345 });
      await spendDownTo(customer, 7);
      expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
      expect(await listTopupCredits(customer)).to.deep.equal([4682]);
      expect(await customer.balance()).to.equal(7 + 4682 - 8);
    });

    for (let round = 1; round <= 3; round += 1) {
      it(`buy once for 20 concurrent creates on two API processes, and all of them succeed (${round})`, async () => {
        service.upstream.outcome = 'wait';
        const customer = await customerOn('studio');
        await spendDownTo(customer, 5);
        const prompt = `one of twenty, ${round}`;
        const responses = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            customer.on(service.baseUrls[index % 2] as string).createGeneration({ ...IMAGE, prompt }),
          ),
        );
        const outcomes = responses.map(({ status, body }) => `${status} ${body.error ?? body.status}`).sort();
        // The plan has 8 slots, so the other creates are not rejected for lack of credits.
        expect(outcomes).to.deep.equal([
          ...Array<string>(8).fill('201 queued'),
          ...Array<string>(12).fill('409 parallel_limit_reached'),
        ]);
        expect(await listTopupCredits(customer)).to.deep.equal([2000]);
        expect(await customer.balance()).to.equal(5 + 2000 - 8 * 8);
        await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 8);
        service.upstream.end(prompt, 'succeeded');
      });
    }

    it('happen at most once an hour, with 402 insufficient_credits until then', async () => {
      const customer = await customerOn('pro');
      await spendDownTo(customer, 0);
      await customer.createImage();
      await spendDownTo(customer, 7);
      for (const baseUrl of [...service.baseUrls, ...service.baseUrls]) {
        const { status, body } = await customer.on(baseUrl).createGeneration(IMAGE);
        expect([status, body.error]).to.deep.equal([402, 'insufficient_credits']);
      }
      expect(await listTopupCredits(customer)).to.deep.equal([1896]);
      await anHourPasses(customer);
      expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
      expect(await listTopupCredits(customer)).to.deep.equal([1896, 1896]);
    });

    it('are not charged for a create that would fail anyway', async () => {
      service.upstream.outcome = 'wait';
      const customer = await customerOn('lite');
      await customer.createGeneration({ ...LONG_VIDEO, prompt: 'holds a slot' });
      await customer.createGeneration({ ...LONG_VIDEO, prompt: 'holds a slot' });
      expect((await customer.createGeneration(LONG_VIDEO)).status).to.equal(409);
      expect((await customer.createGeneration({ model: 'imgmodel-2', params: {} })).status).to.equal(400);
      expect(await listTopupCredits(customer)).to.deep.equal([]);
      await eventually('submitted', () => service.upstream.jobsFor('holds a slot').length === 2);
      service.upstream.end('holds a slot', 'succeeded');
    });

    it('do not happen while they are switched off', async () => {
      const customer = await customerOn('pro');
      await changeTopupSettings(customer, { auto_topup_enabled: false, auto_topup_threshold_credits: 500 });
      await spendDownTo(customer, 7);
      const { status, body } = await customer.createGeneration(IMAGE);
      expect([status, body.error]).to.deep.equal([402, 'insufficient_credits']);
      await sweep();
      expect(await listTopupCredits(customer)).to.deep.equal([]);
    });

    it('happen once for a create that is repeated with its Idempotency-Key', async () => {
      const customer = await customerOn('pro');
      await spendDownTo(customer, 0);
      const send = (baseUrl: string) =>
        customer.on(baseUrl).request('POST', '/api/generations/create/', {
          body: { ...IMAGE, prompt: 'once' },
          headers: { 'idempotency-key': `once-${customer.email}` },
        });
      const responses = await Promise.all([...service.baseUrls, ...service.baseUrls].map(send));
      expect(responses.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201]);
      expect(new Set(responses.map(({ body }) => body.uuid)).size).to.equal(1);
      expect(await customer.balance()).to.equal(1896 - 8);
    });
  });

  describe('below the threshold', () => {
    it('follow a burn within seconds', async () => {
      const customer = await customerOn('pro');
      await changeTopupSettings(customer, { auto_topup_threshold_credits: 1092 });
      await customer.createImage();
      // The balance is not below the threshold yet.
      await sweep();
      expect(await listTopupCredits(customer)).to.deep.equal([]);
      await customer.createImage();
      await eventually('topped up', async () => (await listTopupCredits(customer)).length > 0, 5_000);
      expect(await customer.balance()).to.equal(1100 - 16 + 1896);
    });

    it('happen once for concurrent burns on two API processes, and once an hour', async () => {
      const customer = await customerOn('studio');
      await changeTopupSettings(customer, { auto_topup_threshold_credits: 10_000 });
      const images = await Promise.all(
        Array.from({ length: 8 }, (_, index) => customer.on(service.baseUrls[index % 2] as string).createImage()),
      );
      for (const { uuid } of images) await customer.waitForEnd(uuid);
      await eventually('topped up', async () => (await listTopupCredits(customer)).length > 0, 5_000);
      await Promise.all([sweep(), sweep()]);
      expect(await listTopupCredits(customer)).to.deep.equal([2000]);
      await customer.createImage();
      await sweep();
      expect(await listTopupCredits(customer)).to.deep.equal([2000]);
      await anHourPasses(customer);
      await Promise.all([sweep(), sweep()]);
      expect(await listTopupCredits(customer)).to.deep.equal([2000, 2000]);
      await anHourPasses(customer);
      await sweep();
      expect(await listTopupCredits(customer), 'without another burn').to.deep.equal([2000, 2000]);
    });

    it('follow a burn whose job was lost', async () => {
      const customer = await customerOn('pro');
      await changeTopupSettings(customer, { auto_topup_threshold_credits: 1100 });
      await losingTheJob(() => customer.createImage());
      expect(await listTopupCredits(customer)).to.deep.equal([]);
      await sweep();
      expect(await listTopupCredits(customer)).to.deep.equal([1896]);
      expect(await customer.balance()).to.equal(1100 - 8 + 1896);
    });

    it('follow only burns, not a setting, expired credits, or a recovered balance', async () => {
      const customer = await customerOn('pro');
      await changeTopupSettings(customer, { auto_topup_threshold_credits: 1101 });
      await sweep();
      expect(await listTopupCredits(customer), 'a raised threshold').to.deep.equal([]);
      await spendDownTo(customer, 1000);
      await sweep();
      expect(await listTopupCredits(customer), 'credits that went without a burn').to.deep.equal([]);

      await losingTheJob(() => customer.createImage());
      await changeTopupSettings(customer, { auto_topup_threshold_credits: 1102 });
      await sweep();
      expect(await listTopupCredits(customer), 'a threshold that was changed after the burn').to.deep.equal([]);

      await losingTheJob(() => customer.createImage());
      const { status } = await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      expect(status).to.equal(200);
      await spendDownTo(customer, 500);
      await sweep();
      expect(await listTopupCredits(customer), 'a balance that had recovered').to.deep.equal([1896]);
      const [row] = await service.sql('SELECT auto_topup_triggered_at FROM accounts WHERE email = $1', [
        customer.email,
      ]);
      expect(row.auto_topup_triggered_at).to.equal(null);
    });

    it('are credited although the process died between recording and paying them, like manual ones', async () => {
      const customer = await customerOn('pro');
      // A simulated payment succeeds, although it is old and automatic top-ups were switched off.
      await changeTopupSettings(customer, { auto_topup_enabled: false });
      await service.sql(
        `WITH customer AS (
           UPDATE accounts SET auto_topup_claimed_at = now() - interval '2 days' WHERE email = $1 RETURNING id
         ), topup AS (
           INSERT INTO topups (uuid, account_id, kind, status, amount_cents, credits, created_at)
           SELECT gen_random_uuid(), id, kind, 'pending', 5000, 1896, now() - interval '2 days'
             FROM customer, unnest(ARRAY['automatic', 'manual']) AS kind
           RETURNING uuid, kind, account_id, created_at
         )
         INSERT INTO tasks (kind, key, account_id, run_at, created_at)
         SELECT CASE kind WHEN 'automatic' THEN 'topup.charge' ELSE 'topup.page' END, uuid, account_id, now(), created_at
           FROM topup`,
        [customer.email],
      );
      await runDueTasks(service);
      expect(await listTopupCredits(customer)).to.deep.equal([1896, 1896]);
      await runDueTasks(service);
      expect(await listTopupCredits(customer)).to.deep.equal([1896, 1896]);
    });

    it('do not happen after the subscription has ended', async () => {
      const customer = await customerOn('pro');
      service.fabricated.add('entitlement-matches-subscription');
      await service.sql('UPDATE accounts SET spendable_until = now() WHERE email = $1', [customer.email]);
      await changeTopupSettings(customer, { auto_topup_threshold_credits: 5000 });
      await sweep();
      expect(await listTopupCredits(customer)).to.deep.equal([]);
    });
  });
});

describe('an automatic top-up of which one create takes more than half', () => {
  const RESOLUTION = { enum: ['1K'], default: '1K' };
  const model = {
    name: 'Posters',
    kind: 'image',
    description: 'A poster.',
    upstreams: ['fal:acme/posters'],
    params: { resolution: RESOLUTION, aspect_ratio: { enum: ['1:1'], default: '1:1' } },
    credits: 1_000,
  };
  const CATALOG = JSON.stringify({ models: { 'poster-1': model } });
  const service = useTestService({ apis: 2, workers: 1, env: { CATALOG } });

  it('is not followed by a rejection of the same create, which waited for it', async () => {
    const customer = await service.createCustomer('pro');
    await seedImages(service, customer, await customer.balance());
    await enableAutoTopups(customer);
    const body = { model: 'poster-1', prompt: 'once', params: {} };
    const send = (baseUrl: string) =>
      customer
        .on(baseUrl)
        .request('POST', '/api/generations/create/', { body, headers: { 'idempotency-key': 'once' } });
    const responses = await Promise.all([...service.baseUrls, ...service.baseUrls].map(send));
    expect(responses.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201]);
    expect(await listTopupCredits(customer)).to.deep.equal([1896]);
    expect(await customer.balance()).to.equal(1896 - 1_000);
  });
});

import { expect } from 'chai';
import { IMAGE, VIDEO } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectError, expectTimestamp, countOccurrences, UUID } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline, completeAllGenerations } from '../harness/seeds.ts';

describe('generations', () => {
  const service = useTestService({ apis: 2, workers: 0 });
  before(() => setAllModelsOnline(service));

  describe('create', () => {
    it('returns 201 with the queued generation, which contains the charged credits', async () => {
      const customer = await service.createCustomer('pro');
      const { status, body } = await customer.createGeneration({ ...VIDEO, prompt: 'a lighthouse' });
      expect(status).to.equal(201);
      const { uuid, created_at: createdAt, ...rest } = body;
      expect(uuid).to.match(UUID);
      expectTimestamp(createdAt);
      expect(rest).to.deep.equal({
        model: 'vidmodel-video',
        model_name: 'Video model',
        kind: 'video',
        prompt: 'a lighthouse',
        params: { duration: 5, resolution: '720p', audio: false, aspect_ratio: '16:9' },
        status: 'queued',
        output_url: null,
        thumbnail_url: null,
        credits_charged: 35,
        error_message: null,
        completed_at: null,
        duration_ms: null,
        is_watermarked: false,
      });
      expect((await customer.readGeneration(uuid)).body).to.deep.equal(body);
      expect(await customer.ledger()).to.deep.equal([
        ['grant', 1100],
        ['burn', -35],
      ]);
    });

    it('returns the default aspect_ratio of the kind when the request did not send one', async () => {
      const customer = await service.createCustomer('lite');
      expect((await customer.createImage()).params).to.deep.equal({ resolution: '1K', aspect_ratio: '1:1' });
      const video = await customer.createVideo();
      expect(video.params).to.deep.equal({ duration: 5, resolution: '720p', audio: false, aspect_ratio: '16:9' });
    });

    it('accepts prompts of 1 to 2,500 Unicode characters after trimming', async () => {
      const customer = await service.createCustomer('pro');
      for (const prompt of [
        'x',
        ' x ',
        '🌊'.repeat(2_500),
        `\n\t ${'é'.repeat(2_500)} \u00a0`,
        'null',
        '${7*7} %s \\ \' "',
      ]) {
        const { status, body } = await customer.createGeneration({ ...IMAGE, prompt });
        expect(status, prompt.slice(0, 20)).to.equal(201);
        expect(body.prompt).to.equal(prompt.trim());
        expect((await customer.readGeneration(body.uuid)).body.prompt).to.equal(prompt.trim());
        await completeAllGenerations(service, customer);
      }
      for (const prompt of ['', '   ', '\n', 'x'.repeat(2_501), '🌊'.repeat(2_501)]) {
        expectError(await customer.createGeneration({ ...IMAGE, prompt }), 'validation_error', 'prompt');
      }
    });

    it('rejects an account without an active subscription with 402 subscription_required', async () => {
      const customer = await service.createCustomer(null);
      const rejected = await customer.createGeneration(IMAGE);
      expectError(rejected, 'subscription_required');
      const detail = 'Creating generations requires an active subscription. Choose a plan, then try again.';
      expect(rejected.body.detail).to.equal(detail);
      const lapsed = await service.createCustomer('pro');
      service.fabricated.add('entitlement-matches-subscription');
      await service.sql(`UPDATE accounts SET spendable_until = now() - interval '1 second' WHERE email = $1`, [
        lapsed.email,
      ]);
      expectError(await lapsed.createGeneration(IMAGE), 'subscription_required');
      expect(await lapsed.ledger()).to.deep.equal([['grant', 1100]]);
    });

    for (const [plan, limit] of Object.entries({ lite: 2, studio: 8 })) {
      it(`allows at most ${limit} in flight on ${plan} for simultaneous requests to two processes`, async () => {
        const customer = await service.createCustomer(plan);
        const ways = service.baseUrls.map((url) => customer.on(url));
        const answers = await Promise.all(
          Array.from({ length: 2 * limit + 2 }, (_, index) => (ways[index % 2] ?? customer).createGeneration(IMAGE)),
        );
        expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 201: limit, 409: limit + 2 });
        expectError(await customer.createGeneration(IMAGE), 'parallel_limit_reached');
        const { jobs, credits } = (await customer.request('GET', '/api/usage/summary/')).body;
        expect(jobs).to.deep.equal({ in_flight: limit, parallel_limit: limit });
        expect(credits.used_this_period).to.equal(8 * limit);
        await completeAllGenerations(service, customer);
        expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
      });
    }

    it('rejects a price above the balance with 402 insufficient_credits and charges nothing', async () => {
      const customer = await service.createCustomer('lite');
      const long = { model: 'vidmodel-video', params: { duration: 10, resolution: '1080p' } };
      await customer.createGeneration(long);
      await customer.createGeneration(long);
      await completeAllGenerations(service, customer);
      expectError(await customer.createGeneration(long), 'insufficient_credits');
      expect(await customer.balance()).to.equal(60);
      const both = await Promise.all(service.baseUrls.map((url) => customer.on(url).createGeneration(VIDEO)));
      expect(countOccurrences(both.map(({ status }) => status))).to.deep.equal({ 201: 1, 402: 1 });
      expect(await customer.balance()).to.equal(25);
      expect((await customer.request('GET', '/api/generations/')).body.pagination.total_items).to.equal(3);
    });
  });

  describe('list', () => {
    it("returns the list envelope of the account's own generations, newest first", async () => {
      const [customer, other] = await Promise.all([service.createCustomer('pro'), service.createCustomer('pro')]);
      const made = [await customer.createImage(), await customer.createVideo(), await customer.createImage()];
      await other.createImage();
      const { status, body } = await customer.request('GET', '/api/generations/');
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        pagination: { next: null, previous: null, current_page: 1, total_pages: 1, total_items: 3 },
        data: made.toReversed(),
      });
      expect((await customer.requestWithSession('GET', '/api/generations/')).body).to.deep.equal(body);
    });
  });

  describe('read and delete', () => {
    it('accept a uuid in upper case', async () => {
      const customer = await service.createCustomer('pro');
      const { uuid } = await customer.createImage();
      expect((await customer.readGeneration(uuid.toUpperCase())).body.uuid).to.equal(uuid);
    });

    it('delete returns 204 without a body, removes the generation from lists, and refunds nothing', async () => {
      const customer = await service.createCustomer('pro');
      const { uuid } = await customer.createImage();
      await completeAllGenerations(service, customer);
      const deleted = await customer.request('DELETE', `/api/generations/${uuid}/`);
      expect([deleted.status, deleted.body]).to.deep.equal([204, undefined]);
      expectError(await customer.readGeneration(uuid), 'not_found');
      expectError(await customer.request('DELETE', `/api/generations/${uuid}/`), 'not_found');
      const { pagination, data } = (await customer.request('GET', '/api/generations/')).body;
      expect([pagination.total_items, data]).to.deep.equal([0, []]);
      expect(await customer.ledger()).to.deep.equal([
        ['grant', 1100],
        ['burn', -8],
      ]);
    });

    it('of two simultaneous deletes through two processes, one returns 204 and the other 404', async () => {
      const customer = await service.createCustomer('pro');
      const { uuid } = await customer.createImage();
      const answers = await Promise.all(
        service.baseUrls.map((url) => customer.on(url).request('DELETE', `/api/generations/${uuid}/`)),
      );
      expect(countOccurrences(answers.map(({ status }) => status))).to.deep.equal({ 204: 1, 404: 1 });
    });
  });
});

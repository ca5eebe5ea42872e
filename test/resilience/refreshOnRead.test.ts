import { expect } from 'chai';
import { REFRESH_INTERVAL_MS, REFRESH_WAIT_MS } from '../../shared/spec/limits.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';

describe('reading a queued generation', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ apis: 2, workers: 2 });
  });
  after(() => service.stop());

  it('refreshes it, and returns its end in the same response if the refresh takes less than a second', async () => {
    const customer = await service.createCustomer('pro');
    let shown = 0;
    // A busy machine may need more than a second: the read must then have waited that long, and another try is in time.
    for (let job = 0; job < 5 && shown === 0; job += 1) {
      service.upstream.outcome = 'wait';
      const { uuid, prompt } = await customer.createImage();
      const polls = () => service.upstream.jobsFor(prompt)[0]?.polls ?? [];
      await eventually('polled by the worker', () => polls().length > 0);
      service.upstream.end(prompt, 'succeeded');
      // The last poll was over two seconds ago, and the worker's next one is not due soon.
      await service.sql(
        `UPDATE generations SET polled_at = now() - interval '3 seconds', next_poll_at = now() + interval '1 minute',
                next_attempt_at = now() + interval '1 minute' WHERE uuid = $1`,
        [uuid],
      );
      const startedAt = Date.now();
      const { body } = await customer.readGeneration(uuid);
      const waitedMs = Date.now() - startedAt;
      if (body.status === 'succeeded') shown += 1;
      else expect(waitedMs).to.be.above(REFRESH_WAIT_MS - 20);
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    }
    expect(shown).to.equal(1);
  });

  it('polls the upstream at most once in 2 seconds, however many readers and processes there are', async () => {
    service.upstream.outcome = 'wait';
    const customer = await service.createCustomer('pro');
    const { uuid, prompt } = await customer.createImage();
    const ways = service.baseUrls.map((baseUrl) => customer.on(baseUrl));
    const until = Date.now() + 7_000;
    const readers = Array.from({ length: 20 }, async (_, index) => {
      while (Date.now() < until) {
        const response = await (ways[index % ways.length] ?? customer).readGeneration(uuid);
        expect(response.status).to.equal(200);
        expect(response.body.status).to.equal('queued');
      }
    });
    await Promise.all(readers);
    const polls = service.upstream.jobsFor(prompt)[0]?.polls ?? [];
    expect(polls.length).to.be.within(2, 4);
    // The throttle is acquired before a request is sent: requests may arrive closer together, but not all of them.
    const span = (polls.at(-1) as number) - (polls[0] as number);
    expect(span).to.be.above((polls.length - 1) * REFRESH_INTERVAL_MS - 500);
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('is not required: generations without readers end too', async () => {
    service.upstream.outcome = 'succeed';
    const customer = await service.createCustomer('pro');
    const { uuid } = await customer.createImage();
    await eventually('ended', async () => {
      const [row] = await service.sql('SELECT status FROM generations WHERE uuid = $1', [uuid]);
      return row.status === 'succeeded';
    });
  });
});

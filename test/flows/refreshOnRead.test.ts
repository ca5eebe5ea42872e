import { expect } from 'chai';
import { REFRESH_INTERVAL_MS } from '../../shared/spec/limits.ts';
import { eventually, type Service, startService } from '../harness/service.ts';

describe('reading a queued generation', () => {
  let service: Service;
  before(async () => {
    service = await startService({ apis: 2, workers: 2 });
  });
  after(() => service.stop());

  it('refreshes it, and shows a finished job on that same read', async () => {
    const customer = await service.customer('pro');
    // The first output of a worker takes longer: it starts the process that makes thumbnails.
    await Promise.all(
      [customer.createImage(), customer.createImage()].map(async (image) => customer.settled((await image).uuid)),
    );
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    const job = () => service.upstream.jobsFor(prompt)[0];
    await eventually('polled by the worker', () => (job()?.polls.length ?? 0) > 0);
    service.upstream.end(prompt, 'succeeded');
    await waitUntil((job()?.polls.at(-1) as number) + REFRESH_INTERVAL_MS + 50);
    const startedAt = Date.now();
    const { body } = await customer.read(uuid);
    expect(body.status).to.equal('succeeded');
    expect(Date.now() - startedAt).to.be.below(1_500);
  });

  it('asks the upstream at most once in 2 seconds, however many read through however many processes', async () => {
    service.upstream.outcome = 'wait';
    const customer = await service.customer('pro');
    const { uuid, prompt } = await customer.createImage();
    const ways = service.baseUrls.map((baseUrl) => customer.via(baseUrl));
    const until = Date.now() + 7_000;
    const readers = Array.from({ length: 20 }, async (_, index) => {
      while (Date.now() < until) {
        const answer = await (ways[index % ways.length] ?? customer).read(uuid);
        expect(answer.status).to.equal(200);
        expect(answer.body.status).to.equal('queued');
      }
    });
    await Promise.all(readers);
    const polls = service.upstream.jobsFor(prompt)[0]?.polls ?? [];
    expect(polls.length).to.be.within(2, 4);
    for (const [index, poll] of polls.entries()) {
      // The gate is passed before the request leaves, so that two arrivals may be a little closer than two passages.
      if (index > 0) expect(poll - (polls[index - 1] as number)).to.be.above(REFRESH_INTERVAL_MS - 150);
    }
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.settled(uuid)).status).to.equal('succeeded');
  });

  it('ends jobs that nobody reads, too', async () => {
    service.upstream.outcome = 'succeed';
    const customer = await service.customer('pro');
    const { uuid } = await customer.createImage();
    await eventually('ended', async () => {
      const [row] = await service.sql('SELECT status FROM generations WHERE uuid = $1', [uuid]);
      return row.status === 'succeeded';
    });
  });
});

function waitUntil(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())));
}

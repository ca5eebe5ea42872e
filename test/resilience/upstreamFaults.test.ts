import { isDeepStrictEqual } from 'node:util';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { eventually, startTestService, type TestService, useTestService } from '../harness/testService.ts';

describe('generations while the upstream misbehaves', () => {
  const service = useTestService({ env: { UPSTREAM_TIMEOUT_MS: '1000' } });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('studio');
  });
  beforeEach(async () => {
    Object.assign(service.upstream, {
      outcome: 'succeed',
      submit: undefined,
      status: undefined,
      result: undefined,
      file: undefined,
    });
    await waitForModelsOnline(service);
  });

  it('retries a submit that fails until the upstream accepts it', async () => {
    service.upstream.submit = 'busy';
    const before = service.upstream.submits;
    const { uuid, prompt } = await customer.createImage();
    await eventually('rejected twice', () => service.upstream.submits >= before + 2);
    service.upstream.submit = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt)).to.have.length(1);
    // The upstream was busy but reachable: the model stays online and accepts creates.
    expect(await hasModelStatus(service, 'imgmodel-2', 'online')).to.equal(true);
  });

  it('waits as long as a busy upstream requests before the next submit', async () => {
    service.upstream.submit = { status: 429, headers: { 'retry-after': '4' }, body: {} };
    const before = service.upstream.submits;
    const { uuid } = await customer.createImage();
    await eventually('rejected', () => service.upstream.submits === before + 1);
    const rejectedAt = Date.now();
    service.upstream.submit = undefined;
    await eventually('submitted again', () => service.upstream.submits === before + 2);
    expect(Date.now() - rejectedAt).to.be.above(3_000);
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('keeps polling after a poll that fails', async () => {
    service.upstream.status = service.upstream.result = 'hang';
    const { uuid, prompt } = await customer.createImage();
    await eventually('asked', () => (service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
    service.upstream.status = service.upstream.result = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('fails and refunds only the generation whose handle cannot be stored', async () => {
    const prompts = ['fine 1', '[poison]', 'fine 2'].map((text) => `${text} ${randomUUID()}`);
    // An id that Postgres cannot store.
    service.upstream.onAccepted = (job) => {
      if (job.prompt.includes('[poison]')) job.id += '\u0000';
    };
    const jobs = await Promise.all(prompts.map((prompt) => customer.createImage(prompt)));
    const ended = await Promise.all(jobs.map(({ uuid }) => customer.waitForEnd(uuid)));
    expect(ended.map(({ status }) => status)).to.deep.equal(['succeeded', 'failed', 'succeeded']);
    const runs = prompts.map((prompt) => service.upstream.jobsFor(prompt).length);
    expect(runs).to.deep.equal([1, 2, 1]);
  });

  it('keeps polling a generation without readers at the expected intervals', async () => {
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await customer.createImage();
    const polls = () => service.upstream.jobsFor(prompt)[0]?.polls ?? [];
    await eventually('polled four times', () => polls().length >= 4, 60_000);
    const gaps = polls()
      .slice(1)
      .map((poll, index) => poll - (polls()[index] as number));
    expect(Math.min(...gaps)).to.be.above(1_900);
    // The row contains the time of the next poll, and the sweep finds it soon after if the job is lost.
    const [row] = await service.sql(
      `SELECT extract(epoch FROM next_poll_at - polled_at)::float AS next, extract(epoch FROM next_attempt_at - polled_at)::float AS due
         FROM generations WHERE uuid = $1`,
      [uuid],
    );
    expect(row.next).to.be.within(2, 8);
    expect(row.due - row.next).to.be.within(0.5, 3);
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('fails and refunds a generation whose output is not an image', async () => {
    service.upstream.file = 'garbage';
    const { uuid } = await customer.createImage();
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'failed', error_message: 'The model returned no usable output.' });
  });

  it('retries the download of an output after a failure', async () => {
    service.upstream.file = 'error';
    const { uuid, prompt } = await customer.createImage();
    await eventually('asked', () => (service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
    service.upstream.file = undefined;
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
  });

  it('fails a generation that the upstream does not know a minute after its submission, however old it is', async () => {
    // Its hour may be final. Its day stays that of its usage.
    service.fabricated.add('final-hours-match-generations');
    service.upstream.outcome = 'wait';
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    const [job] = service.upstream.jobsFor(prompt);
    const submittedAgo = (minutes: number) =>
      service.sql(
        `UPDATE generations SET submitted_at = date_trunc('milliseconds', now()) - make_interval(mins => $2),
                created_at = greatest(now() - interval '20 minutes', date_trunc('day', now(), 'UTC'))
          WHERE uuid = $1 AND submitted_at IS NOT NULL RETURNING 1`,
        [uuid, minutes],
      );
    await eventually('recorded', async () => (await submittedAgo(0)).length === 1);
    const { jobs } = service.upstream;
    jobs.splice(jobs.indexOf(job as (typeof jobs)[number]), 1);
    await customer.request('GET', `/api/generations/${uuid}/?wait=5`);
    expect((await customer.readGeneration(uuid)).body.status).to.equal('queued');
    await submittedAgo(2);
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'failed', error_message: 'The model lost this generation.' });
  });

  it('fails and refunds a generation whose handle it cannot read a minute after its submission', async () => {
    service.upstream.outcome = 'wait';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    const rewrite = () =>
      service.sql(
        `UPDATE generations SET submitted_at = date_trunc('milliseconds', now()) - interval '2 minutes',
                upstream_handle = upstream_handle || '{"response_url": null, "status_url": "another form"}'
          WHERE uuid = $1 AND submitted_at IS NOT NULL RETURNING 1`,
        [uuid],
      );
    await eventually('recorded', async () => (await rewrite()).length === 1);
    const ended = await customer.waitForEnd(uuid);
    expect(ended).to.include({ status: 'failed', error_message: 'The model lost this generation.' });
    expect(await customer.balance()).to.equal(balance);
  });

  it('fails and refunds a generation past its deadline, cancels it upstream, and ignores a late success', async () => {
    service.upstream.outcome = 'wait';
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    await service.sql('UPDATE generations SET deadline_at = now() WHERE uuid = $1', [uuid]);
    await eventually('failed', async () => (await customer.readGeneration(uuid)).body.status === 'failed');
    expect(await customer.balance()).to.equal(balance);
    await eventually('cancelled', () => service.upstream.jobsFor(prompt)[0]?.cancelled === true);
    service.upstream.end(prompt, 'succeeded');
    const ended = (await customer.readGeneration(uuid)).body;
    expect(ended).to.include({
      status: 'failed',
      error_message: 'The model did not finish in time.',
      output_url: null,
    });
  });
});

async function waitForModelsOnline(service: TestService): Promise<void> {
  await service.sql(
    "UPDATE upstream_health SET status = 'online', consecutive_failures = 0, consecutive_successes = 2, probed_at = now()",
  );
}

async function hasModelStatus(service: TestService, slug: string, status: string): Promise<boolean> {
  const { body } = await service.request('GET', '/api/models/');
  return body.data.find((model: { slug: string }) => model.slug === slug).status === status;
}

describe('submits that fail in transport', () => {
  it('degrade a model but do not take it offline, because only probes do', async () => {
    const service = await startTestService({ env: { PROBE_INTERVAL_MS: '20000' } });
    const customer = await service.createCustomer('studio');
    await eventually('probed', async () => (await service.sql('SELECT 1 FROM upstream_health')).length === 2);
    service.upstream.submit = 'drop';
    const images = await Promise.all(Array.from({ length: 4 }, () => customer.createImage()));
    const health = () =>
      service.sql("SELECT status, consecutive_failures FROM upstream_health WHERE model = 'imgmodel-2'");
    // Four consecutive failures without a probe between them.
    const degraded = { status: 'degraded', consecutive_failures: 2 };
    await eventually('degraded', async () => isDeepStrictEqual(await health(), [degraded]));
    await eventually('each was tried', async () => {
      const rows = await service.sql(
        'SELECT 1 FROM generations WHERE unconfirmed_submits > 0 OR submit_started_at IS NOT NULL',
      );
      return rows.length === images.length;
    });
    expect(await health()).to.deep.equal([degraded]);
    service.upstream.submit = undefined;
    for (const { uuid } of images) await customer.waitForEnd(uuid, 60_000);
    await service.stop();
  }).timeout(90_000);
});

import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const cancel = (customer: TestCustomer, uuid: string): Promise<ApiResponse> =>
  customer.request('POST', `/api/generations/${uuid}/cancel/`);

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Checks that a generation has one refund if it failed, and none otherwise. */
async function expectRefundsOnce(service: TestService, uuid: string): Promise<void> {
  const [row] = await service.sql(
    `SELECT status, (SELECT count(*)::int FROM ledger_entries e WHERE e.generation_uuid = g.uuid AND entry_type = 'refund') AS refunds
       FROM generations g WHERE uuid = $1`,
    [uuid],
  );
  expect(row.refunds).to.equal(row.status === 'failed' ? 1 : 0);
}

describe('cancelling a generation that was submitted', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    // Tests hold a submit back while they cancel it, which takes seconds on a busy machine.
    service = await startTestService({ apis: 2, workers: 2, env: { UPSTREAM_TIMEOUT_MS: '20000' } });
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.upstream.reset();
    service.upstream.outcome = 'wait';
    await service.sql(
      "UPDATE upstream_health SET status = 'online', consecutive_failures = 0, consecutive_successes = 2, probed_at = now(), circuit_open_until = NULL",
    );
  });

  const isSubmitted = (uuid: string) => async () =>
    (await service.sql('SELECT upstream_handle IS NOT NULL AS is FROM generations WHERE uuid = $1', [uuid]))[0].is;
  const getJob = (prompt: string) => service.upstream.jobsFor(prompt).at(-1);

  it('refunds it once the upstream confirms that it was removed from the queue', async () => {
    service.upstream.isQueueing = true;
    const balance = await customer.balance();
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', isSubmitted(uuid));
    const { status, body } = await cancel(customer, uuid);
    expect([status, body.status]).to.deep.equal([202, 'queued']);
    expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: 'Canceled.' });
    expect(getJob(prompt)?.cancelled).to.equal(true);
    expect(await customer.balance()).to.equal(balance);
    expect((await cancel(customer, uuid)).status).to.equal(200);
    await expectRefundsOnce(service, uuid);
  });

  it('comes too late once it has started: it is not disturbed, and succeeds', async () => {
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', isSubmitted(uuid));
    expect((await cancel(customer, uuid)).status).to.equal(202);
    const polls = getJob(prompt)?.polls.length ?? 0;
    await eventually('polled since', () => (getJob(prompt)?.polls.length ?? 0) > polls);
    expect(getJob(prompt)?.cancelled).to.equal(false);
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    await expectRefundsOnce(service, uuid);
  });

  it('refunds it once if it starts before the cancellation arrives, and the upstream ends it', async () => {
    service.upstream.isQueueing = true;
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', isSubmitted(uuid));
    service.upstream.changeBody = (body, operation) => {
      if (operation === 'status') setImmediate(() => service.upstream.begin(prompt));
      return body;
    };
    await cancel(customer, uuid);
    expect((await customer.waitForEnd(uuid)).status).to.equal('failed');
    expect(getJob(prompt)).to.include({ cancelled: true }).and.not.include({ startedAt: null });
    await expectRefundsOnce(service, uuid);
  });

  it('refunds nothing while the upstream does not answer, and asks again', async () => {
    service.upstream.isQueueing = true;
    service.upstream.cancel = 'error';
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitted', isSubmitted(uuid));
    const isCancel = ({ call }: { call: string }) => call.endsWith(`${getJob(prompt)?.id}/cancel`);
    await cancel(customer, uuid);
    await eventually('asked', () => service.upstream.requests.some(isCancel));
    expect((await customer.readGeneration(uuid)).body.status).to.equal('queued');
    service.upstream.cancel = undefined;
    expect((await customer.waitForEnd(uuid)).error_message).to.equal('Canceled.');
    expect(service.upstream.requests.filter(isCancel).length).to.be.at.least(2);
    await expectRefundsOnce(service, uuid);
  });

  /** Creates a video and cancels it while its submit is in progress. The submit continues when `resume` is called. */
  async function cancelDuringSubmit(): Promise<{ uuid: string; prompt: string; resume: () => boolean }> {
    const held = new EventEmitter();
    service.upstream.submitHold = once(held, 'resume');
    const before = service.upstream.submits;
    const { uuid, prompt } = await customer.createVideo();
    await eventually('submitting', () => service.upstream.submits > before);
    service.upstream.submitHold = undefined;
    expect((await cancel(customer, uuid)).status).to.equal(202);
    return { uuid, prompt, resume: () => held.emit('resume') };
  }

  it('during the submit: cancels it upstream as soon as it is accepted', async () => {
    service.upstream.isQueueing = true;
    const balance = await customer.balance();
    const { uuid, prompt, resume } = await cancelDuringSubmit();
    resume();
    expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: 'Canceled.' });
    expect(service.upstream.jobsFor(prompt).map((job) => job.cancelled)).to.deep.equal([true]);
    expect(await customer.balance()).to.equal(balance);
    await expectRefundsOnce(service, uuid);
  });

  it('during a submit that is not accepted: ends it instead of submitting it again', async () => {
    const { uuid, prompt, resume } = await cancelDuringSubmit();
    const submits = service.upstream.submits;
    service.upstream.submit = 'busy';
    resume();
    expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: 'Canceled.' });
    expect([service.upstream.submits, service.upstream.jobsFor(prompt).length]).to.deep.equal([submits, 0]);
    await expectRefundsOnce(service, uuid);
  });

  it('during a submit of unknown outcome: refunds nothing, submits once more, and cancels that run', async () => {
    service.upstream.isQueueing = true;
    const { uuid, prompt, resume } = await cancelDuringSubmit();
    service.upstream.submit = 504;
    resume();
    await eventually('released', async () => {
      const [row] = await service.sql('SELECT leased_until, status FROM generations WHERE uuid = $1', [uuid]);
      service.upstream.submit = undefined;
      return row.status === 'queued';
    });
    expect(await customer.waitForEnd(uuid, 40_000)).to.include({ status: 'failed', error_message: 'Canceled.' });
    const [row] = await service.sql('SELECT unconfirmed_submits FROM generations WHERE uuid = $1', [uuid]);
    expect([row.unconfirmed_submits, service.upstream.jobsFor(prompt).length]).to.deep.equal([1, 1]);
    await expectRefundsOnce(service, uuid);
  }).timeout(60_000);

  it('after the death of the worker that was to submit it: submits it and cancels that run', async () => {
    service.upstream.isQueueing = true;
    const { uuid, prompt, resume } = await cancelDuringSubmit();
    // As if another worker had claimed it and died: nothing may be refunded without the upstream.
    await service.sql(
      "UPDATE generations SET submit_started_at = now() - interval '1 minute', leased_until = now() - interval '1 second', next_attempt_at = now() WHERE uuid = $1",
      [uuid],
    );
    await eventually('submitted by the next claim', () => service.upstream.jobsFor(prompt).length === 1);
    resume();
    expect(await customer.waitForEnd(uuid)).to.include({ status: 'failed', error_message: 'Canceled.' });
    await expectRefundsOnce(service, uuid);
  });

  it('refunds each once when cancels, ends, polls and expiry race', async () => {
    const accountValues = [customer.email];
    await service.sql('UPDATE accounts SET parallel_limit = 100 WHERE email = $1', accountValues);
    const balance = await customer.balance();
    let created = 0;
    service.upstream.onAccepted = (job) => {
      created += 1;
      if (created % 2 === 0) job.startedAt = null;
    };
    const clients = service.baseUrls.map((baseUrl) => customer.on(baseUrl));
    const uuids = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const { uuid, prompt } = await customer.createImage();
        await pause((index * 97) % 2_500);
        await Promise.all([
          ...[0, 1, 2].map((turn) => pause(turn * 40).then(() => cancel(clients[turn % 2] as TestCustomer, uuid))),
          customer.readGeneration(uuid),
          pause((index % 5) * 30).then(async () =>
            index % 3 === 0
              ? service.sql("UPDATE generations SET deadline_at = now() WHERE uuid = $1 AND status = 'queued'", [uuid])
              : service.upstream.end(prompt, index % 3 === 1 ? 'succeeded' : 'failed'),
          ),
        ]);
        return { uuid, prompt };
      }),
    );
    let refunded = 0;
    for (const { uuid, prompt } of uuids) {
      const end = customer.waitForEnd(uuid, 60_000);
      // Ends jobs that were submitted after their end was requested.
      const finish = setInterval(() => {
        for (const job of service.upstream.jobsFor(prompt))
          if (job.outcome === null) service.upstream.finish(job, 'failed');
      }, 500);
      if ((await end).status === 'failed') refunded += 1;
      clearInterval(finish);
      await expectRefundsOnce(service, uuid);
    }
    expect(refunded).to.be.above(0);
    expect(await customer.balance()).to.equal(balance - 8 * (uuids.length - refunded));
    const [{ in_flight: inFlight }] = await service.sql(
      'SELECT in_flight FROM accounts WHERE email = $1',
      accountValues,
    );
    expect(inFlight).to.equal(0);
    await service.sql('UPDATE accounts SET parallel_limit = 8 WHERE email = $1', accountValues);
  }).timeout(120_000);
});

describe('cancelling a video of OpenAI', () => {
  it('never deletes it: the API confirms no cancellation, so it continues', async () => {
    const upstream = await new FakeUpstream('test').start();
    upstream.outcome = 'wait';
    const service = await startTestService({
      env: { VIDEO_UPSTREAM: 'openai:some-video', OPENAI_BASE_URL: `${upstream.url}/v1`, OPENAI_API_KEY: 'test' },
    });
    const customer = await service.createCustomer('pro');
    upstream.isQueueing = true;
    const { uuid, prompt } = await customer.createVideo();
    await eventually('polled', () => (upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
    expect((await cancel(customer, uuid)).status).to.equal(202);
    const polls = upstream.jobsFor(prompt)[0]?.polls.length ?? 0;
    await eventually('polled since', () => (upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > polls);
    upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    expect(upstream.jobsFor(prompt)[0]?.removed).to.equal(false);
    await service.stop();
    await upstream.stop();
  });
});

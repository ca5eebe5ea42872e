import { expect } from 'chai';
import { type Callback, sendCallback } from '../../dev/sampleUpstream/callbacks.ts';
import { listUpstreamsWithCallbacks } from '../../shared/domain/generations/execution/pollPace.ts';
import { recordAccepted } from '../../shared/domain/generations/execution/submit.ts';
import { REFRESH_INTERVAL_MS } from '../../shared/spec/limits.ts';
import { FakeUpstream, type UpstreamJob } from '../fakes/fakeUpstream.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import {
  buildCallback,
  buildForgedCallback,
  postCallback,
  postponePolls,
  readPollState,
  waitForStoredEnd,
} from '../harness/upstreamCallbacks.ts';

const PROTOCOLS = {
  fal: { VIDEO_UPSTREAM: 'fal:fal-ai/video', IMAGE_UPSTREAM: 'fal:fal-ai/image' },
  replicate: {
    VIDEO_UPSTREAM: 'replicate:bytedance/seedance-1-pro',
    IMAGE_UPSTREAM: 'replicate:google/nano-banana-2',
    REPLICATE_API_TOKEN: 'test',
  },
};

for (const [name, env] of Object.entries(PROTOCOLS)) {
  describe(`call-backs of ${name}`, () => {
    /** Registers a test of what does not depend on the protocol. */
    const itForOne: (title: string, run: () => Promise<void>) => void = name === 'fal' ? it : () => {};
    const provider = new FakeUpstream();
    let service: TestService;
    let upstream: FakeUpstream;
    let customer: TestCustomer;
    before(async () => {
      await provider.start();
      service = await startTestService({
        env: {
          ...env,
          FAL_BASE_URL: provider.url,
          REPLICATE_BASE_URL: `${provider.url}/v1`,
          UPSTREAMS: JSON.stringify({ upstreams: { [name]: { callbacks: true } } }),
        },
      });
      await service.upstream.stop();
      Object.defineProperty(service, 'upstream', { value: provider });
      upstream = provider;
      customer = await service.createCustomer('studio');
    });
    after(() => service.stop());
    beforeEach(() => {
      upstream.reset();
      upstream.outcome = 'wait';
      upstream.deliver = () => {};
    });

    /** Creates a generation whose job has ended at the upstream, and whose next poll is a minute away. */
    async function createEnded(): Promise<{ uuid: string; prompt: string; job: UpstreamJob }> {
      const { uuid, prompt } = await customer.createImage();
      await postponePolls(service, uuid);
      upstream.end(prompt, 'succeeded');
      return { uuid, prompt, job: upstream.jobsFor(prompt)[0] as UpstreamJob };
    }

    itForOne('end a generation at once, long before its next poll', async () => {
      upstream.deliver = (callback) => void sendCallback(callback);
      const { uuid } = await createEnded();
      expect(await waitForStoredEnd(service, uuid, 30_000)).to.equal('succeeded');
    });

    it('are confirmed with 204 and no body', async () => {
      const { uuid, job } = await createEnded();
      const { status, text } = await postCallback(buildCallback(service, job));
      expect([status, text]).to.deep.equal([204, '']);
      expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    });

    itForOne('are not believed: a generation that still runs at the upstream stays queued', async () => {
      const { uuid, prompt } = await customer.createImage();
      await postponePolls(service, uuid);
      const job = upstream.jobsFor(prompt)[0] as UpstreamJob;
      const polls = job.polls.length;
      const ended = buildCallback(service, {
        ...job,
        completedAt: Date.now(),
        outcome: { kind: 'failed', reason: 'broke down', message: 'a failure that did not happen' },
      });
      expect((await postCallback(ended)).status).to.equal(204);
      await eventually('polled', () => job.polls.length > polls);
      expect((await readPollState(service, uuid)).status).to.equal('queued');
      upstream.end(prompt, 'succeeded');
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });

    it('change nothing if they are forged, changed, too old or sent elsewhere, and are all rejected alike', async () => {
      const { uuid, job } = await createEnded();
      const other = await createEnded();
      const genuine = buildCallback(service, job);
      const before = await readPollState(service, uuid);
      const { url, headers, body } = genuine;
      const at = (seconds: number) => new Date(service.now.getTime() + 1_000 * seconds);
      const rejected = {
        'by another key': buildForgedCallback(service, job),
        'with a changed body': { ...genuine, body: body.replace('{', '{ ') },
        'without a body': { ...genuine, body: '' },
        'without headers': { ...genuine, headers: {} },
        'with empty headers': { ...genuine, headers: mapValues(headers, () => '') },
        'with nonsense as headers': { ...genuine, headers: mapValues(headers, () => 'v1,x') },
        'too old': buildCallback(service, job, at(-310)),
        'from the future': buildCallback(service, job, at(310)),
        'to a changed address': { ...genuine, url: `${url.slice(0, -5)}AAAAA` },
        'to a shortened address': { ...genuine, url: url.slice(0, -10) },
        'to an invented address': { ...genuine, url: new URL('/upstream-events/x', url).href },
      };
      const bodies = new Set<string>();
      for (const [what, callback] of Object.entries(rejected)) {
        const { status, text } = await postCallback(callback);
        expect(status, what).to.equal(404);
        bodies.add(text);
      }
      expect(bodies.size).to.equal(1);
      // It is genuine, and about another job than its address.
      const misdirected = { ...buildCallback(service, other.job), url };
      expect((await postCallback(misdirected)).status).to.equal(204);
      expect(await readPollState(service, uuid)).to.deep.equal(before);
      expect((await postCallback(genuine)).status).to.equal(204);
      expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    });

    itForOne('have no effect on a generation that has ended', async () => {
      const { uuid, job } = await createEnded();
      const callback = buildCallback(service, job);
      await postCallback(callback);
      await waitForStoredEnd(service, uuid);
      const [before] = await service.sql('SELECT * FROM generations WHERE uuid = $1', [uuid]);
      const polls = job.polls.length;
      for (let repeat = 0; repeat < 3; repeat += 1) expect((await postCallback(callback)).status).to.equal(204);
      const [after] = await service.sql('SELECT * FROM generations WHERE uuid = $1', [uuid]);
      expect(after).to.deep.equal(before);
      expect(job.polls).to.have.length(polls);
    });

    itForOne('lead to at most one poll in 2 seconds, however often they are repeated', async () => {
      const { uuid, prompt } = await customer.createImage();
      await postponePolls(service, uuid);
      const job = upstream.jobsFor(prompt)[0] as UpstreamJob;
      const outcome: UpstreamJob['outcome'] = { kind: 'succeeded', files: [] };
      const early = buildCallback(service, { ...job, completedAt: Date.now(), outcome });
      const known = job.polls.length;
      const startedAt = Date.now();
      // The row has the times at which polls were allowed: how long a poll then takes depends on the machine.
      const polledAt = new Set<number>();
      await eventually('polled three times', async () => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => postCallback(early)));
        expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([204]));
        const { polled_at } = await readPollState(service, uuid);
        if (job.polls.length > known) polledAt.add(polled_at?.getTime() ?? 0);
        return polledAt.size >= 3;
      });
      expect(job.polls.length - known).to.be.at.most(1 + (Date.now() - startedAt) / REFRESH_INTERVAL_MS);
      const [first = 0, second = 0, third = 0] = polledAt;
      expect(Math.min(second - first, third - second)).to.be.at.least(REFRESH_INTERVAL_MS);
      upstream.end(prompt, 'succeeded');
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });

    itForOne(
      'that arrive before the response to the submit is recorded make the first poll follow at once',
      async () => {
        const { uuid, job } = await createEnded();
        // As it is while the response is on its way.
        const [row] = await service.sql(
          `UPDATE generations SET submit_started_at = submitted_at, submitted_at = NULL, upstream_handle = NULL,
                polled_at = NULL, next_poll_at = NULL, leased_until = now() + interval '1 minute'
          WHERE uuid = $1
         RETURNING uuid, account_id, upstream, upstream_model, submit_started_at AS since, failed_over_at, 8000 AS "firstPollDelayMs",
                   (SELECT upstream_handle FROM generations WHERE uuid = $1) AS handle`,
          [uuid],
        );
        expect((await postCallback(buildCallback(service, job))).status).to.equal(204);
        expect(await readPollState(service, uuid))
          .to.include({ polled_at: null })
          .and.not.include({ next_poll_at: null });
        expect(await recordAccepted(row)).to.equal('poll due');
        // The sweep enqueues the poll if the job is lost, as here.
        expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
      },
    );

    itForOne('of an earlier submit have no effect', async () => {
      const { uuid, job } = await createEnded();
      const callback = buildCallback(service, job);
      await service.sql("UPDATE generations SET submitted_at = submitted_at + interval '1 second' WHERE uuid = $1", [
        uuid,
      ]);
      const before = await readPollState(service, uuid);
      expect((await postCallback(callback)).status).to.equal(204);
      expect(await readPollState(service, uuid)).to.deep.equal(before);
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    });

    itForOne('end a read that waits, without polls of that read while call-backs arrive', async () => {
      upstream.deliver = (callback) => void sendCallback(callback);
      // A verified call-back shows that they arrive.
      const earlier = await createEnded();
      expect(await waitForStoredEnd(service, earlier.uuid)).to.equal('succeeded');
      await eventually('known to arrive', () => listUpstreamsWithCallbacks().includes(name));
      const { uuid, prompt } = await customer.createImage();
      const waiting = customer.request('GET', `/api/generations/${uuid}/?wait=20`);
      await eventually('submitted', () => upstream.jobsFor(prompt).length === 1);
      // Without call-backs, the read would cause a poll every 2 seconds.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const job = upstream.jobsFor(prompt)[0] as UpstreamJob;
      expect(job.polls.length).to.be.below(2);
      await postponePolls(service, uuid);
      upstream.end(prompt, 'succeeded');
      expect((await waiting).body.status).to.equal('succeeded');
    });

    itForOne('may be lost: polls end the generation', async () => {
      upstream.outcome = 'succeed';
      const { uuid } = await customer.createImage();
      expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    });

    itForOne('stay queued until the sweep if their job is lost: the row says that a poll is due', async () => {
      const { uuid, job } = await createEnded();
      const startedAt = Date.now();
      await postCallback(buildCallback(service, job));
      const { next_attempt_at: due } = await readPollState(service, uuid);
      expect(due.getTime()).to.be.below(startedAt + 30_000);
      expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    });

    it('are answered with 503 while the keys cannot be fetched for the first time, and 204 afterwards', async () => {
      const { uuid, job } = await createEnded();
      upstream.keys = 'error';
      const api = await service.startApi();
      const toNewApi = redirect(buildCallback(service, job), api);
      expect((await postCallback(toNewApi)).status).to.equal(503);
      expect((await readPollState(service, uuid)).status).to.equal('queued');
      upstream.keys = undefined;
      await eventually('verified', async () => (await postCallback(toNewApi)).status === 204);
      expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    });

    itForOne(
      'are accepted from an address that is over its limit, because providers share addresses with strangers',
      async () => {
        const { uuid, job } = await createEnded();
        const api = await service.startApi({ RATE_LIMITS: 'on', RATE_PUBLIC_PER_MINUTE: '3' });
        const genuine = redirect(buildCallback(service, job), api);
        const invented = { ...genuine, url: new URL('/upstream-events/x', api.baseUrl).href };
        const statuses: number[] = [];
        for (let count = 0; count < 5; count += 1) statuses.push((await postCallback(invented)).status);
        expect(statuses).to.deep.equal([404, 404, 404, 429, 429]);
        expect((await postCallback(redirect(buildForgedCallback(service, job), api))).status).to.equal(429);
        expect((await postCallback(genuine)).status).to.equal(204);
        expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
      },
    );

    const countFetches = () => upstream.requests.filter(({ call }) => /jwks\.json|default\/secret/.test(call)).length;

    it('are verified with new keys after a rotation, and a flood of forged ones causes no flood of fetches', async () => {
      const { uuid, job } = await createEnded();
      const genuine = buildCallback(service, job);
      await service.moveClockTo(new Date(service.now.getTime() + 2 * 60_000));
      const fetches = countFetches();
      const forged = Array.from({ length: 40 }, () => postCallback(buildForgedCallback(service, job)));
      expect(new Set((await Promise.all(forged)).map(({ status }) => status))).to.deep.equal(new Set([404]));
      expect(countFetches() - fetches).to.equal(1);
      const other = buildForgedCallback(service, job);
      upstream.callbackKeys = new FakeUpstream().callbackKeys;
      expect((await postCallback(other)).status).to.equal(404);
      expect(countFetches() - fetches).to.equal(1);
      await service.moveClockTo(new Date(service.now.getTime() + 61_000));
      expect((await postCallback(buildCallback(service, job))).status).to.equal(204);
      expect(countFetches() - fetches).to.equal(2);
      expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
      expect((await postCallback(genuine)).status).to.equal(404);
    });

    it('do not wait for new keys that are fetched because an hour has passed', async () => {
      await setAllModelsOnline(service);
      const { job } = await createEnded();
      expect((await postCallback(buildCallback(service, job))).status).to.equal(204);
      await service.moveClockTo(new Date(service.now.getTime() + 61 * 60_000));
      upstream.keys = 'hang';
      const fetches = countFetches();
      const startedAt = Date.now();
      expect((await postCallback(buildCallback(service, job))).status).to.equal(204);
      // Before the fetch times out, after 6 seconds.
      expect(Date.now() - startedAt).to.be.below(5_000);
      await eventually('fetched', () => countFetches() === fetches + 1);
    });
  });
}

/** Directs a call-back to another API of the service. */
function redirect(callback: Callback, { baseUrl }: { baseUrl: string }): Callback {
  return { ...callback, url: new URL(new URL(callback.url).pathname, baseUrl).href };
}

function mapValues(record: Record<string, string>, map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

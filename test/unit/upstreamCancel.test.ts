import { expect } from 'chai';
import type { Upstream, UpstreamHandle } from '../../shared/gateways/upstreams/upstream.ts';
import { FakeUpstream, type UpstreamFault } from '../fakes/fakeUpstream.ts';
import {
  type AdapterFactory,
  buildRoute,
  buildSubmission,
  getHandle,
  loadAdapter,
} from '../harness/upstreamAdapter.ts';
import { CASES } from './upstreamAdapters.cases.ts';

/** Responses to a cancellation that confirm that the generation did not run, and others. */
const RESPONSES: Record<string, { confirms: UpstreamFault[]; leavesOpen: UpstreamFault[] }> = {
  fal: {
    confirms: [{ status: 200, body: { status: 'OK' } }],
    leavesOpen: [
      { status: 202, body: { status: 'CANCELLATION_REQUESTED' } },
      { status: 202, body: { status: 'OK' } },
      { status: 200, body: { status: 'CANCELLATION_REQUESTED' } },
      { status: 200, body: {} },
      { status: 200, body: null },
      { status: 400, body: { status: 'ALREADY_COMPLETED' } },
      { status: 404, body: { status: 'NOT_FOUND' } },
    ],
  },
  replicate: {
    confirms: [
      { status: 200, body: { status: 'canceled', started_at: null } },
      { status: 200, body: { status: 'aborted', started_at: null } },
    ],
    leavesOpen: [
      { status: 200, body: { status: 'canceled' } },
      { status: 200, body: { status: 'canceled', started_at: '2026-11-21T09:30:00Z' } },
      { status: 200, body: { status: 'starting', started_at: null } },
      { status: 200, body: { status: 'failed', started_at: null } },
      { status: 404, body: { status: 'canceled', started_at: null } },
      { status: 200, body: null },
    ],
  },
  http: {
    confirms: [
      { status: 200, body: { status: 'canceled', started_at: null } },
      { status: 200, body: { status: 'canceled' } },
    ],
    leavesOpen: [
      { status: 200, body: { status: 'canceled', started_at: '2026-11-21T09:30:00Z' } },
      { status: 200, body: { status: 'starting', started_at: null } },
      { status: 404, body: { status: 'canceled', started_at: null } },
      { status: 200, body: null },
    ],
  },
  openai: {
    confirms: [],
    leavesOpen: [
      { status: 200, body: { id: 'x', object: 'video.deleted', deleted: true } },
      { status: 200, body: { status: 'cancelled' } },
      { status: 404, body: {} },
    ],
  },
};

const withoutNulls = (body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

for (const { name, settings, path } of CASES) {
  describe(`cancelling with the ${name} adapter`, () => {
    const fake = new FakeUpstream('test');
    let createUpstream: AdapterFactory;
    before(async () => {
      createUpstream = await loadAdapter(name);
      await fake.start();
    });
    after(() => fake.stop());
    beforeEach(() => fake.reset());

    const upstream = (): Upstream =>
      createUpstream(buildRoute(name, 'video', 'owner/name', { baseUrl: `${fake.url}${path}`, ...settings }));
    const duration = { fal: '5', replicate: 5, openai: undefined, http: 5 }[name];

    async function accept(): Promise<{ handle: UpstreamHandle; prompt: string }> {
      fake.outcome = 'wait';
      const request = buildSubmission({ input: { ...(duration !== undefined && { duration }) } });
      return { handle: getHandle(await upstream().submit(request)), prompt: request.input.prompt };
    }

    const { confirms, leavesOpen } = RESPONSES[name] as (typeof RESPONSES)[string];
    leavesOpen.push({ status: 200, body: { status: { toString: 1 } } });
    for (const response of confirms) {
      it(`confirms that it did not run for ${JSON.stringify(response)}`, async () => {
        const { handle } = await accept();
        fake.cancel = response;
        expect(await upstream().cancel(handle)).to.equal('did_not_run');
      });
    }
    for (const response of leavesOpen) {
      it(`confirms nothing for ${JSON.stringify(response)}`, async () => {
        const { handle } = await accept();
        fake.cancel = response;
        expect(await upstream().cancel(handle)).to.equal('unknown');
      });
    }

    it('reports that it waits only before it has started, and only if a cancellation can be confirmed', async () => {
      fake.isQueueing = true;
      const { handle, prompt } = await accept();
      const canConfirm = confirms.length > 0;
      expect(await upstream().poll(handle)).to.deep.equal({ state: 'running', ...(canConfirm && { isWaiting: true }) });
      fake.begin(prompt);
      expect(await upstream().poll(handle)).to.deep.equal({ state: 'running' });
    });

    it('reports that it waits also if the provider leaves out fields without a value', async () => {
      fake.isQueueing = true;
      fake.changeBody = withoutNulls;
      const { handle } = await accept();
      expect('isWaiting' in (await upstream().poll(handle))).to.equal(confirms.length > 0);
    });

    it('never passes on the message of a cancellation by the owner', async () => {
      const { handle, prompt } = await accept();
      fake.failure = 'Canceled.';
      fake.end(prompt, 'failed');
      expect(await upstream().poll(handle)).to.deep.equal({
        state: 'failed',
        message: 'The generation was cancelled.',
      });
    });

    it('confirms the cancellation of a job in the queue, and not of one that has started or ended', async () => {
      fake.isQueueing = true;
      const queued = await accept();
      expect(await upstream().cancel(queued.handle)).to.equal(confirms.length > 0 ? 'did_not_run' : 'unknown');
      const started = await accept();
      fake.begin(started.prompt);
      expect(await upstream().cancel(started.handle)).to.equal('unknown');
      const ended = await accept();
      fake.end(ended.prompt, 'succeeded');
      expect(await upstream().cancel(ended.handle)).to.equal('unknown');
    });
  });
}

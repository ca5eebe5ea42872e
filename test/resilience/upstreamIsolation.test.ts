import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { MP4, type VerbatimResponse } from '../fakes/misbehave.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, type TestService, startTestService } from '../harness/testService.ts';
import { waitForStoredEnd } from '../harness/upstreamCallbacks.ts';

/** Fewer slots than generations of the upstream with a fault. */
const SLOTS = 4;
const HELD = 8;
const MEGABYTE = 1024 * 1024;

/** A file that is as large as allowed and arrives at 20 KB per second. */
const SLOW_FILE: VerbatimResponse = {
  status: 200,
  headers: { 'content-type': 'video/mp4', 'content-length': String(500 * MEGABYTE) },
  get body() {
    return Readable.from(
      (async function* () {
        yield MP4;
        for (;;) {
          await pause(50);
          yield Buffer.alloc(1_024);
        }
      })(),
    );
  },
};

/** Faults of an upstream, and the requests that show that others wait: one large file takes all of its disk space. */
const FAULTS: [name: string, fault: Partial<FakeUpstream>, isHeld: (call: string) => boolean, held: number][] = [
  ['a submit that hangs', { submit: 'hang' }, (call) => call.startsWith('POST'), SLOTS],
  ['a status that hangs', { status: 'hang', result: 'hang' }, (call) => /GET .*\/requests\/(?!0{8})/.test(call), SLOTS],
  ['a file host that hangs', { file: 'hang' }, (call) => call.includes('/files/'), SLOTS],
  ['a slow file of 500 MB', { file: SLOW_FILE }, (call) => call.includes('/files/'), 1],
];

describe('while one upstream has', () => {
  let other: FakeUpstream;
  let service: TestService;
  let customer: TestCustomer;
  /** Milliseconds without a fault. */
  const alone = { end: 0, cancel: 0 };

  before(async () => {
    other = await new FakeUpstream().start();
    const upstreams = { other: { adapter: 'fal', base_url: other.url, key: 'other' } };
    service = await startTestService({
      env: {
        VIDEO_UPSTREAM: 'other:some/video',
        UPSTREAMS: JSON.stringify({ upstreams }),
        UPSTREAM_CONCURRENCY: String(SLOTS),
        UPSTREAM_TIMEOUT_MS: '30000',
      },
    });
    customer = await service.createCustomer('studio');
    Object.assign(alone, await measure());
  });
  after(async () => {
    await service.stop();
    await other.stop();
  });

  /**
   * Measures how long images at the upstream without a fault take to succeed, and one to be canceled, without readers.
   */
  async function measure(): Promise<typeof alone> {
    service.upstream.reset();
    const images = await Promise.all(Array.from({ length: 3 }, () => customer.createImage()));
    const startedAt = performance.now();
    for (const { uuid } of images) expect(await waitForStoredEnd(service, uuid)).to.equal('succeeded');
    const end = performance.now() - startedAt;

    Object.assign(service.upstream, { outcome: 'wait', isQueueing: true });
    const { uuid, prompt } = await customer.createImage();
    await eventually('polled', () => (service.upstream.jobsFor(prompt)[0]?.polls.length ?? 0) > 0);
    const canceledAt = performance.now();
    expect((await customer.request('POST', `/api/generations/${uuid}/cancel/`)).status).to.equal(202);
    expect(await waitForStoredEnd(service, uuid)).to.equal('failed');
    return { end, cancel: performance.now() - canceledAt };
  }

  for (const [name, fault, isHeld, held] of FAULTS) {
    it(`${name}, generations and cancellations at another one are as fast as without it`, async () => {
      const neighbor = await service.createCustomer('studio');
      // The end of the connections in the test before looked like failed probes.
      await setAllModelsOnline(service);
      const known = other.requests.length;
      Object.assign(other, fault);
      const videos = await Promise.all(Array.from({ length: HELD }, () => neighbor.createVideo()));
      await eventually('others wait', () => {
        const calls = other.requests.slice(known).map(({ call }) => call);
        return calls.filter(isHeld).length >= held;
      });

      const beside = await measure();
      const slack = scaleTimeout(2_000);
      expect(beside.end).to.be.below(alone.end + slack);
      expect(beside.cancel).to.be.below(alone.cancel + slack);

      // Ends the connections that hang.
      other.reset();
      await other.stop();
      await other.start();
      for (const { uuid } of videos) expect(await waitForStoredEnd(service, uuid, 60_000)).to.equal('succeeded');
      expect(await neighbor.balance()).to.equal(3_000 - HELD * videos[0].credits_charged);
    }).timeout(120_000);
  }
});

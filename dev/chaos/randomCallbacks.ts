import { type Callback, createCallbackKeys, sendCallback } from '../sampleUpstream/callbacks.ts';
import type { FakeUpstream, UpstreamJob } from '../../test/fakes/fakeUpstream.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';

/** Part of the error in call-backs that contradict the upstream, and occurs nowhere else. */
export const CALLBACK_ONLY = 'said by a call-back only';

/** Shares of the jobs, in percent. The call-backs of all others arrive once, within 200 ms. */
const LOST_PERCENT = 15;
const REPEATED_PERCENT = 15;
const LATE_PERCENT = 15;
/** Jobs with a signed call-back that says the run failed, while it still runs. */
const UNTRUE_PERCENT = 30;
const FORGED_PERCENT = 20;

/**
 * Makes an upstream send call-backs that are lost, repeated, late, out of order, untrue or forged. What happens to a
 * job follows from the seed and its prompt.
 */
export function sendRandomCallbacks(upstream: FakeUpstream, random: SeededRandom, now: () => Date): void {
  const forgedKeys = createCallbackKeys();

  function sendLater(job: UpstreamJob, delayMs: number, hasFailed: boolean, isForged = false): void {
    setTimeout(() => {
      const callback = buildRandomCallback(job, hasFailed, isForged);
      if (callback !== null) void sendCallback(callback);
    }, delayMs).unref();
  }

  function buildRandomCallback(job: UpstreamJob, hasFailed: boolean, isForged: boolean): Callback | null {
    const { callbackKeys } = upstream;
    if (isForged) upstream.callbackKeys = forgedKeys;
    try {
      const message = `It failed: ${CALLBACK_ONLY}.`;
      return upstream.buildCallback(
        hasFailed ? { ...job, outcome: { kind: 'failed', reason: 'broke down', message } } : job,
        now(),
      );
    } finally {
      upstream.callbackKeys = callbackKeys;
    }
  }

  const { onAccepted } = upstream;
  upstream.onAccepted = (job) => {
    onAccepted(job);
    const jobRandom = random.fork(job.prompt);
    if (jobRandom.nextBelow(100) < UNTRUE_PERCENT) sendLater(job, jobRandom.nextBetween(10, 1_000), true);
    if (jobRandom.nextBelow(100) < FORGED_PERCENT) sendLater(job, jobRandom.nextBetween(10, 3_000), true, true);
  };
  upstream.deliver = (_callback, job) => {
    const jobRandom = random.fork(`end of ${job.prompt}`);
    const kind = jobRandom.nextBelow(100);
    if (kind < LOST_PERCENT) return;
    sendLater(job, jobRandom.nextBelow(200), false);
    if (kind < LOST_PERCENT + REPEATED_PERCENT)
      for (let repeat = 1; repeat <= 5; repeat += 1) sendLater(job, 300 * repeat, false);
    else if (kind < LOST_PERCENT + REPEATED_PERCENT + LATE_PERCENT) sendLater(job, 10_000, false);
  };
}

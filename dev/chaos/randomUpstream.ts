import { FakeUpstream } from '../../test/fakes/fakeUpstream.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';

/** Share of prompts that fail at some models, and the share of models at which such a prompt fails. */
const FAILING_PROMPTS_PERCENT = 11;
const FAILING_MODELS_PERCENT = 75;
const SLOW_PERCENT = 5;
/** Share of jobs that wait in the queue for a part of their duration, and can be canceled meanwhile. */
const QUEUED_PERCENT = 50;

/**
 * A fake upstream whose durations and outcomes are derived from the seed. The outcome of a job depends on its prompt
 * and its model, so that it is the same in each run of a seed, in whichever order jobs arrive.
 */
export async function startRandomUpstream(random: SeededRandom): Promise<FakeUpstream> {
  const upstream = new FakeUpstream();
  upstream.outcome = 'wait';
  upstream.onAccepted = (job) => {
    const jobRandom = random.fork(job.prompt);
    const failsSomewhere = jobRandom.nextBelow(100) < FAILING_PROMPTS_PERCENT;
    const failsHere = random.fork(`${job.prompt} ${job.request.path}`).nextBelow(100) < FAILING_MODELS_PERCENT;
    const outcome = failsSomewhere && failsHere ? 'failed' : 'succeeded';
    const takesMs =
      jobRandom.nextBelow(100) < SLOW_PERCENT
        ? jobRandom.nextBetween(8_000, 15_000)
        : jobRandom.nextBetween(100, 3_000);
    if (jobRandom.nextBelow(100) < QUEUED_PERCENT) {
      job.startedAt = null;
      const begin = () => {
        if (!job.cancelled) job.startedAt ??= Date.now();
      };
      setTimeout(begin, Math.floor(takesMs / 2)).unref();
    }
    const finish = () => {
      if (!job.cancelled) upstream.finish(job, outcome);
    };
    setTimeout(finish, takesMs).unref();
  };
  return upstream.start();
}

import { FakeFal, type UpstreamJob } from '../../test/fakes/upstreams/fal.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';

/** Share of jobs that fail. */
const FAILURE_PERCENT = 8;
const SLOW_PERCENT = 5;

/**
 * A fake upstream whose durations and outcomes are derived from the seed. The outcome of a job depends on its prompt,
 * so that it is the same in each run of a seed, in whichever order jobs arrive.
 */
export async function startRandomUpstream(random: SeededRandom): Promise<FakeFal> {
  const upstream = new FakeFal();
  upstream.outcome = 'wait';
  upstream.onAccepted = (job: UpstreamJob) => {
    const jobRandom = random.fork(job.prompt);
    const state = jobRandom.nextBelow(100) < FAILURE_PERCENT ? 'failed' : 'succeeded';
    const takesMs =
      jobRandom.nextBelow(100) < SLOW_PERCENT
        ? jobRandom.nextBetween(8_000, 15_000)
        : jobRandom.nextBetween(100, 3_000);
    job.startedAt = Date.now();
    const finish = () => {
      job.endedAt ??= Date.now();
      if (!job.cancelled) job.state = state;
    };
    setTimeout(finish, takesMs).unref();
  };
  return upstream.start();
}

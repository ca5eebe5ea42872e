import { StandInUpstream, type UpstreamJob } from '../standins/upstream.ts';
import type { Random } from '../random.ts';

/** Of a hundred jobs. */
const FAILING = 8;
const SLOW = 5;

/**
 * A model provider whose jobs take as long, and end, as the seed says. What becomes of a job goes by its prompt, so that
 * it is the same in each run of a seed, whichever order they come in.
 */
export async function startChanceUpstream(random: Random): Promise<StandInUpstream> {
  const upstream = new StandInUpstream();
  upstream.outcome = 'wait';
  upstream.onAccepted = (job: UpstreamJob) => {
    const fate = random.fork(job.prompt);
    const state = fate.below(100) < FAILING ? 'failed' : 'succeeded';
    const takesMs = fate.below(100) < SLOW ? fate.between(8_000, 15_000) : fate.between(100, 3_000);
    job.beganAt = Date.now();
    const finish = () => {
      job.endedAt ??= Date.now();
      if (!job.cancelled) job.state = state;
    };
    setTimeout(finish, takesMs).unref();
  };
  return upstream.start();
}

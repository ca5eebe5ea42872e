import { logger } from './logger.ts';

/** Runs the steps of a job in order. A step that fails does not skip the next ones; the last error is thrown. */
export async function runSteps(steps: (() => Promise<void>)[]): Promise<void> {
  let failure: unknown;
  for (const step of steps) {
    try {
      await step();
    } catch (err) {
      logger.warn({ err, step: step.name }, 'step of a job failed; next run will retry');
      failure = err;
    }
  }
  if (failure !== undefined) throw failure;
}

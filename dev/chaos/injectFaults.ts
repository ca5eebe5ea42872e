import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FAULTS } from './faults.ts';
import { createSeededRandom } from '../../test/fakes/seededRandom.ts';
import type { PlannedFault } from './schedule.ts';
import type { ChaosEnvironment } from './environment.ts';

/** A fault that was done, between two moments of `Date.now`. */
export interface InjectedFault {
  name: string;
  target: string;
  from: number;
  to: number;
}

/**
 * Does what is planned, each at its moment. Resolves when all of it has ended.
 * @param ending nothing is begun any more from then on, and what is under way ends.
 */
export async function injectFaults(
  environment: ChaosEnvironment,
  planned: readonly PlannedFault[],
  seed: number,
  log: (line: string) => void,
  ending: AbortSignal,
): Promise<InjectedFault[]> {
  const startedAt = Date.now();
  // All that is planned waits for it.
  setMaxListeners(0, ending);
  const done: InjectedFault[] = [];
  const possible = planned.filter(({ name }) => name !== 'Postgres out of disk' || environment.disk !== null);
  await Promise.all(
    possible.map(async ({ name, target, atMs, durationMs: forMs }, index) => {
      const fault = FAULTS[name];
      if (fault === undefined) throw new Error(`There is no fault ${name}.`);
      await sleepUnlessEnding(Math.max(0, startedAt + atMs - Date.now()), ending);
      if (ending.aborted) return;
      const entry: InjectedFault = { name, target, from: Date.now(), to: Number.POSITIVE_INFINITY };
      done.push(entry);
      log(
        `${(atMs / 1_000).toFixed(1).padStart(6)} s  ${name}: ${target}${forMs > 0 ? `, ${(forMs / 1_000).toFixed(1)} s` : ''}`,
      );
      // What takes a while to begin, such as a restart, is part of it.
      const begun = fault.begin(environment, target, createSeededRandom(`${seed}/${index}`));
      await sleepUnlessEnding(forMs, ending);
      await begun;
      await fault.end?.(environment, target);
      entry.to = Date.now();
    }),
  );
  return done;
}

async function sleepUnlessEnding(milliseconds: number, ending: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal: ending }).catch(() => {});
}

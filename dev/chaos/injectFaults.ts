import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FAULTS } from './faults.ts';
import { createSeededRandom } from '../../test/fakes/seededRandom.ts';
import type { PlannedFault } from './schedule.ts';
import type { ChaosEnvironment } from './environment.ts';

/** An injected fault, between two times of `Date.now`. */
export interface InjectedFault {
  name: string;
  target: string;
  from: number;
  to: number;
}

/**
 * Injects the planned faults, each at its time. Resolves when all of them have ended.
 * @param ending once aborted, no fault begins, and those in progress end.
 */
export async function injectFaults(
  environment: ChaosEnvironment,
  planned: readonly PlannedFault[],
  seed: number,
  log: (line: string) => void,
  ending: AbortSignal,
): Promise<InjectedFault[]> {
  const startedAt = Date.now();
  // Every planned fault waits for it.
  setMaxListeners(0, ending);
  const done: InjectedFault[] = [];
  const possible = planned.filter(({ name }) => name !== 'Postgres disk full' || environment.disk !== null);
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
      // A slow beginning, such as a restart, is part of the fault.
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

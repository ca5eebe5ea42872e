import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FAULTS } from './faults.ts';
import { randomFrom } from '../random.ts';
import type { PlannedFault } from './schedule.ts';
import type { Stage } from './stage.ts';

/** A fault that was done, between two moments of `Date.now`. */
export interface DoneFault {
  name: string;
  target: string;
  from: number;
  to: number;
}

/**
 * Does what is planned, each at its moment. Resolves when all of it has ended.
 * @param ending nothing is begun any more from then on, and what is under way ends.
 */
export async function breakThings(
  stage: Stage,
  planned: readonly PlannedFault[],
  seed: number,
  say: (line: string) => void,
  ending: AbortSignal,
): Promise<DoneFault[]> {
  const startedAt = Date.now();
  // All that is planned waits for it.
  setMaxListeners(0, ending);
  const done: DoneFault[] = [];
  const possible = planned.filter(({ name }) => name !== 'Postgres out of disk' || stage.disk !== null);
  await Promise.all(
    possible.map(async ({ name, target, atMs, forMs }, index) => {
      const fault = FAULTS[name];
      if (fault === undefined) throw new Error(`There is no fault ${name}.`);
      await sleep(Math.max(0, startedAt + atMs - Date.now()), ending);
      if (ending.aborted) return;
      const entry: DoneFault = { name, target, from: Date.now(), to: Number.POSITIVE_INFINITY };
      done.push(entry);
      say(
        `${(atMs / 1_000).toFixed(1).padStart(6)} s  ${name}: ${target}${forMs > 0 ? `, ${(forMs / 1_000).toFixed(1)} s` : ''}`,
      );
      // What takes a while to begin, such as a restart, is part of it.
      const begun = fault.begin(stage, target, randomFrom(`${seed}/${index}`));
      await sleep(forMs, ending);
      await begun;
      await fault.end?.(stage, target);
      entry.to = Date.now();
    }),
  );
  return done;
}

async function sleep(milliseconds: number, ending: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal: ending }).catch(() => {});
}

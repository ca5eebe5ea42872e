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

/** Does what is planned, each at its moment. Resolves when all of it has ended. */
export async function breakThings(
  stage: Stage,
  planned: readonly PlannedFault[],
  seed: number,
  say: (line: string) => void,
): Promise<DoneFault[]> {
  const startedAt = Date.now();
  const done: DoneFault[] = [];
  const possible = planned.filter(({ name }) => name !== 'Postgres out of disk' || stage.disk !== null);
  await Promise.all(
    possible.map(async ({ name, target, atMs, forMs }, index) => {
      const fault = FAULTS[name];
      if (fault === undefined) throw new Error(`There is no fault ${name}.`);
      await delay(Math.max(0, startedAt + atMs - Date.now()));
      const entry: DoneFault = { name, target, from: Date.now(), to: Number.POSITIVE_INFINITY };
      done.push(entry);
      say(
        `${(atMs / 1_000).toFixed(1).padStart(6)} s  ${name}: ${target}${forMs > 0 ? `, ${(forMs / 1_000).toFixed(1)} s` : ''}`,
      );
      // What takes a while to begin, such as a restart, is part of it.
      const begun = fault.begin(stage, target, randomFrom(`${seed}/${index}`));
      await delay(forMs);
      await begun;
      await fault.end?.(stage, target);
      entry.to = Date.now();
    }),
  );
  return done;
}

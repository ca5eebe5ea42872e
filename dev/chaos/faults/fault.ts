import type { SeededRandom } from '../../../test/fakes/seededRandom.ts';
import type { ChaosEnvironment } from '../environment.ts';

/** A fault that can be injected and removed. */
export interface Fault {
  /** Relative frequency among all faults. */
  weight: number;
  /** Possible targets, of which the schedule picks one. */
  targets: readonly string[];
  /** Resources that no other fault may affect at the same time. */
  locks: (target: string) => readonly string[];
  /** Duration in milliseconds: minimum and maximum. */
  durationMs: readonly [number, number];
  begin: (environment: ChaosEnvironment, target: string, random: SeededRandom) => unknown;
  end?: (environment: ChaosEnvironment, target: string) => unknown;
}

export type Faults = Readonly<Record<string, Fault>>;

export const APIS = ['api 1', 'api 2'];
export const PROCESSES = [...APIS, 'worker 1', 'worker 2'];

/** Locks a single resource, whatever the target. */
export const lockOnly = (resource: string) => () => [resource];

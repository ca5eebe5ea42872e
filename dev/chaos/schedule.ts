import { FAULTS } from './faults.ts';
import { type Random, randomFrom } from '../random.ts';

export interface PlannedFault {
  name: string;
  target: string;
  /** Since the run began. */
  atMs: number;
  forMs: number;
}

const FIRST_MS = 2_000;
/** Between two beginnings. */
const LEAST_GAP_MS = 200;
const MOST_GAP_MS = 3_000;
/** What was broken is left alone for a moment before it is broken again. */
const REST_MS = 1_000;
const MOST_AT_ONCE = 4;
/** A month passes when these parts of a run are over. */
const MONTHS_AT = [0.35, 0.8];
/** So long before a month ends Redis forgets everything, in the middle of what the crowd has ordered. */
const EMPTIED_BEFORE_MS = 1_000;
const RUSH_BEFORE_MS = 3_000;
const RUSH_AFTER_MS = 4_000;
/** Refunds fail from when this part of a run is over until its end. */
const REFUNDS_FAIL_AT = 0.75;
const SHORTEST_WITH_TWO_MONTHS_MS = 50_000;

/** What is broken when: the same for the same seed. Everything has ended when the run has. */
export function scheduleOf(seed: number, totalMs: number): PlannedFault[] {
  const random = randomFrom(seed).fork('schedule');
  const planned: PlannedFault[] = [];
  const freeAt = new Map<string, number>();
  const months = (totalMs < SHORTEST_WITH_TWO_MONTHS_MS ? MONTHS_AT.slice(0, 1) : MONTHS_AT).map(
    (part) => part * totalMs,
  );
  const isFree = (holds: readonly string[], at: number) => holds.every((held) => (freeAt.get(held) ?? 0) <= at);

  for (let at = FIRST_MS; at < totalMs; at += random.between(LEAST_GAP_MS, MOST_GAP_MS)) {
    if (months[0] !== undefined && at >= months[0]) {
      months.shift();
      const held = FAULTS['a month passes']?.holds('') ?? [];
      // Nobody may stand still then, or go by another clock.
      at = Math.max(at, ...held.map((name) => freeAt.get(name) ?? 0));
      if (at >= totalMs) break;
      planned.push({ name: 'a month passes', target: 'everything', atMs: at, forMs: 0 });
      if (isFree(['Redis'], at - EMPTIED_BEFORE_MS)) {
        planned.push({ name: 'Redis emptied', target: 'Redis', atMs: at - EMPTIED_BEFORE_MS, forMs: 0 });
      }
      planned.push({ name: 'everybody comes', target: 'clients', ...rushAround(at, totalMs) });
      continue;
    }
    const chosen = choose(random, (name, target) => isFree(FAULTS[name]?.holds(target) ?? [], at));
    const underWay = planned.filter(({ name, atMs, forMs }) => name !== 'everybody comes' && atMs + forMs > at).length;
    if (chosen === undefined || underWay >= MOST_AT_ONCE || at + chosen.forMs > totalMs) continue;
    planned.push({ ...chosen, atMs: at });
    for (const held of FAULTS[chosen.name]?.holds(chosen.target) ?? []) freeAt.set(held, at + chosen.forMs + REST_MS);
  }
  const refundsMs = Math.round(REFUNDS_FAIL_AT * totalMs);
  const target = random.pick(FAULTS['refunds fail']?.targets ?? []);
  planned.push({ name: 'refunds fail', target, atMs: refundsMs, forMs: totalMs - refundsMs });
  return planned;
}

/** From some seconds before a month ends, so that as much as may be is under way then. */
function rushAround(monthMs: number, totalMs: number): Pick<PlannedFault, 'atMs' | 'forMs'> {
  const atMs = Math.max(0, monthMs - RUSH_BEFORE_MS);
  return { atMs, forMs: Math.min(totalMs, monthMs + RUSH_AFTER_MS) - atMs };
}

function choose(
  random: Random,
  isFree: (name: string, target: string) => boolean,
): Omit<PlannedFault, 'atMs'> | undefined {
  const entries = Object.entries(FAULTS);
  let left = random.below(entries.reduce((sum, [, { weight }]) => sum + weight, 0));
  const [name, fault] = entries.find(([, { weight }]) => (left -= weight) < 0) ?? entries[0]!;
  const target = random.pick(fault.targets);
  const forMs = random.between(...(fault.forMs as [number, number]));
  return isFree(name, target) ? { name, target, forMs } : undefined;
}

import { FAULTS } from './faults.ts';
import { type SeededRandom, createSeededRandom } from '../../test/fakes/seededRandom.ts';

export interface PlannedFault {
  name: string;
  target: string;
  /** Time since the start of the run. */
  atMs: number;
  durationMs: number;
}

const FIRST_FAULT_MS = 2_000;
/** Minimum time between the starts of two faults. */
const MIN_GAP_MS = 200;
const MAX_GAP_MS = 3_000;
/** A target recovers for a moment before the next fault. */
const RECOVERY_MS = 1_000;
const MAX_CONCURRENT_FAULTS = 4;
/** A month passes after these shares of a run. */
const MONTH_CHANGE_SHARES = [0.35, 0.8];
/** Redis is emptied this long before a month ends, in the middle of the rush. */
const EMPTIED_BEFORE_MS = 1_000;
const RUSH_BEFORE_MS = 3_000;
const RUSH_AFTER_MS = 4_000;
/** Refunds fail from this share of a run until its end. */
const REFUNDS_FAIL_SHARE = 0.75;
/** Moderation fails after this share of a run: creates without a decision are rare otherwise. */
const MODERATION_FAILS_SHARE = 0.6;
const MODERATION_FAILS_MS = 5_000;
const MIN_TWO_MONTHS_RUN_MS = 50_000;
/** Responses to charges are lost from then on, when accounts need their first automatic top-up: few follow in a run. */
const CHARGES_LOST_AT_MS = 4_000;
const CHARGES_LOST_MS = 15_000;
/** A run has at least this length after a jump to the end of a day: generations of that day are refunded afterwards. */
const MIN_LEFT_FOR_DAY_MS = 21_000;

/** Plans the faults of a run: the same seed gives the same schedule. All faults end within the run. */
export function buildSchedule(seed: number, totalMs: number): PlannedFault[] {
  const random = createSeededRandom(seed).fork('schedule');
  const planned: PlannedFault[] = [];
  const freeAt = new Map<string, number>();
  const months = (totalMs < MIN_TWO_MONTHS_RUN_MS ? MONTH_CHANGE_SHARES.slice(0, 1) : MONTH_CHANGE_SHARES).map(
    (part) => part * totalMs,
  );
  if (totalMs > MIN_LEFT_FOR_DAY_MS)
    planned.push({ name: 'day change', target: '10 s before midnight', atMs: 0, durationMs: 0 });
  const lostFromMs = Math.min(CHARGES_LOST_AT_MS, totalMs / 4);
  const lostMs = Math.min(CHARGES_LOST_MS, totalMs / 4);
  const lostRandom = createSeededRandom(seed).fork('charge responses lost');
  planned.push(planFault('charge responses lost', lostRandom, lostFromMs, lostMs));
  freeAt.set('charges', lostFromMs + lostMs + RECOVERY_MS);
  const isFree = (holds: readonly string[], at: number) => holds.every((lockName) => (freeAt.get(lockName) ?? 0) <= at);

  for (let at = FIRST_FAULT_MS; at < totalMs; at += random.nextBetween(MIN_GAP_MS, MAX_GAP_MS)) {
    if (months[0] !== undefined && at >= months[0]) {
      months.shift();
      const lockName = FAULTS['month change']?.locks('') ?? [];
      // No process may be paused or use another clock at that time.
      at = Math.max(at, ...lockName.map((name) => freeAt.get(name) ?? 0));
      if (at >= totalMs) break;
      // A day ends soon after the month has settled, or not within the run.
      const target = at + MIN_LEFT_FOR_DAY_MS < totalMs ? '17 s before midnight' : 'noon';
      planned.push({ name: 'month change', target, atMs: at, durationMs: 0 });
      if (isFree(['Redis'], at - EMPTIED_BEFORE_MS)) {
        planned.push({ name: 'Redis emptied', target: 'Redis', atMs: at - EMPTIED_BEFORE_MS, durationMs: 0 });
      }
      const rush = planRush(at, totalMs);
      planned.push({ name: 'rush', target: 'clients', ...rush });
      // Everything that moves credits then meets itself in paused transactions.
      planned.push({ name: 'transactions paused', target: 'all tables', ...rush });
      continue;
    }
    const chosen = chooseFault(random, (name, target) => isFree(FAULTS[name]?.locks(target) ?? [], at));
    const active = planned.filter(({ name, atMs, durationMs: forMs }) => name !== 'rush' && atMs + forMs > at).length;
    if (chosen === undefined || active >= MAX_CONCURRENT_FAULTS || at + chosen.durationMs > totalMs) continue;
    planned.push({ ...chosen, atMs: at });
    for (const lockName of FAULTS[chosen.name]?.locks(chosen.target) ?? [])
      freeAt.set(lockName, at + chosen.durationMs + RECOVERY_MS);
  }
  const moderationMs = Math.round(MODERATION_FAILS_SHARE * totalMs);
  const failsMs = Math.min(MODERATION_FAILS_MS, totalMs - moderationMs);
  planned.push(planFault('moderation fails', random, moderationMs, failsMs));
  const refundsMs = Math.round(REFUNDS_FAIL_SHARE * totalMs);
  planned.push(planFault('refunds fail', random, refundsMs, totalMs - refundsMs));
  return planned;
}

/** Plans a fault with one of its targets. */
function planFault(name: string, random: SeededRandom, atMs: number, durationMs: number): PlannedFault {
  return { name, target: random.pick(FAULTS[name]?.targets ?? []), atMs, durationMs };
}

/** Begins some seconds before a month ends, so that as much as possible is in progress then. */
function planRush(monthMs: number, totalMs: number): Pick<PlannedFault, 'atMs' | 'durationMs'> {
  const atMs = Math.max(0, monthMs - RUSH_BEFORE_MS);
  return { atMs, durationMs: Math.min(totalMs, monthMs + RUSH_AFTER_MS) - atMs };
}

function chooseFault(
  random: SeededRandom,
  isFree: (name: string, target: string) => boolean,
): Omit<PlannedFault, 'atMs'> | undefined {
  const entries = Object.entries(FAULTS);
  let left = random.nextBelow(entries.reduce((sum, [, { weight }]) => sum + weight, 0));
  const [name, fault] = entries.find(([, { weight }]) => (left -= weight) < 0) ?? entries[0]!;
  const target = random.pick(fault.targets);
  const forMs = random.nextBetween(...(fault.durationMs as [number, number]));
  return isFree(name, target) ? { name, target, durationMs: forMs } : undefined;
}

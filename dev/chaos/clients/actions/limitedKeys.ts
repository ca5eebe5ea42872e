import type { CreditLimit } from '../../../../shared/presenters/spendingLimit.ts';
import { DAY_MS } from '../../../../shared/spec/durations.ts';
import { SPENDING_PERIODS } from '../../../../shared/spec/states.ts';
import { call, callUntilKnown } from '../api.ts';
import { inParallel, retryUntilKnown, type ClientState, type Step } from '../clientState.ts';
import { type CreateRequest, newCreateRequest } from '../createRequests.ts';
import type { CreatedUnderLimit, LimitedKey } from '../customers.ts';
import { newCreateRequests, sendCancel, sendCreate } from './generations.ts';
import { createKey } from './keys.ts';
import { refundGeneration } from './staff.ts';

const MAX_LIMITED_KEYS = 2;
/** Generations of earlier days are refunded newest first: these may still run. */
const LATEST = 5;
/** Number of simultaneous creates with one limited key. */
const BURST_SIZE = 16;
/**
 * A rush ends some seconds after a month has passed. Requests that read the clock before that are completed this long
 * after the rush. A window of the new month must not contain them, although they are charged later.
 */
const MONTH_SETTLED_MS = 8_000;
/** Time before and after midnight in which clients create and refund within limits. */
const DAY_TURN_MS = 6_000;

/** Creates with a key that has a spending limit, or changes the limit. */
export async function useLimitedKey(step: Step): Promise<void> {
  const { customer, random, state } = step;
  const usable = customer.limitedKeys.filter(({ hasWindow }) => !hasWindow || isMonthSettled(state));
  if (usable.length === 0 || (customer.limitedKeys.length < MAX_LIMITED_KEYS && random.chance(0.2))) {
    if (customer.limitedKeys.length < MAX_LIMITED_KEYS) await createLimitedKey(step);
    return;
  }
  const key = random.pick(usable);
  if (key.hasWindow && refundsEarlier(step, key.created))
    await refundEarlier(step, key.created, () => createWithLimit(step, key));
  else if (random.chance(0.2)) await changeLimit(step, key, pickLimit(step, key));
  else if (random.chance(0.25)) await createWithLimit(step, key);
  else await createManyWithLimit(step, key);
}

async function createLimitedKey(step: Step): Promise<void> {
  const period = pickPeriod(step);
  const created = await createKey(step, call, { credit_limit: { credits: pickMargin(step), period } });
  if (created === undefined) return;
  const hasWindow = period !== 'total';
  step.customer.limitedKeys.push({ ...created, creditsUsed: 0, hasWindow, created: [], isChanging: false });
}

/** Returns true if no month passes now, and requests from before the last one are completed. */
export function isMonthSettled(state: ClientState): boolean {
  return state.isRush?.() !== true && performance.now() - state.lastRushAt > MONTH_SETTLED_MS;
}

/** Chooses a period. Windows begin and change only while no month passes. */
function pickPeriod({ state, random }: Step): CreditLimit['period'] {
  return isMonthSettled(state) && random.chance(0.9) ? random.pick(SPENDING_PERIODS) : 'total';
}

/** Returns credits of a few generations. */
export function pickMargin({ random }: Step): number {
  return random.nextBetween(8, 80);
}

/** Raises, lowers, removes or replaces a limit. */
function pickLimit(step: Step, { creditsUsed }: LimitedKey): CreditLimit | null {
  const { random, state } = step;
  if (random.chance(0.15)) return null;
  // A limit is lowered only while no month passes: the clocks of the charge and of the change would be a month apart.
  const credits =
    isMonthSettled(state) && random.chance(0.25)
      ? random.nextBetween(1, Math.max(1, creditsUsed))
      : creditsUsed + pickMargin(step);
  return { credits, period: pickPeriod(step) };
}

/** Changes the limit of a key, with an unrestricted key. Each key is changed by one client at a time. */
async function changeLimit(step: Step, key: LimitedKey, limit: CreditLimit | null): Promise<void> {
  if (key.isChanging) return;
  key.isChanging = true;
  const hasWindow = limit !== null && limit.period !== 'total';
  if (hasWindow) key.hasWindow = true;
  // The key of the request may be revoked while it runs.
  const response = await callUntilKnown(
    step,
    'change key',
    (api) => api.keys.update(key.uuid, { credit_limit: limit }),
    { expects: ['insufficient_scope'] },
  );
  if (response.isGood) {
    key.hasWindow = hasWindow;
    key.creditsUsed = response.body.credits_used ?? key.creditsUsed;
  }
  key.isChanging = false;
}

async function createWithLimit(step: Step, key: LimitedKey): Promise<void> {
  const request = newCreateRequest(step);
  await retryUntilKnown(step, () => sendLimited(step, key, request));
}

/**
 * Raises the limit by the price of a few generations, and sends many more creates at the same moment to all processes.
 */
async function createManyWithLimit(step: Step, key: LimitedKey): Promise<void> {
  const { random } = step;
  const period = key.hasWindow ? random.pick(['day', 'month'] as const) : 'total';
  await changeLimit(step, key, { credits: key.creditsUsed + pickMargin(step), period });
  const requests = newCreateRequests(step, BURST_SIZE);
  const sent = inParallel(step, BURST_SIZE, (address, index) =>
    sendLimited(step, key, requests[index] as CreateRequest, address),
  );
  await Promise.all([sent, ...(random.chance(0.3) ? [changeLimit(step, key, pickLimit(step, key))] : [])]);
}

/** Returns true while a UTC day ends or has just begun, unless a month passes. */
export function isDayTurning(state: ClientState): boolean {
  const sinceMidnight = state.now().getTime() % DAY_MS;
  return isMonthSettled(state) && (sinceMidnight < DAY_TURN_MS || sinceMidnight > DAY_MS - DAY_TURN_MS);
}

const getUtcDay = (at: Date): string => at.toISOString().slice(0, 'YYYY-MM-DD'.length);

/**
 * Lists generations of earlier days: they do not belong to the present window of a day, or of a month that began since.
 */
function listEarlier({ state }: Step, created: readonly CreatedUnderLimit[]): CreatedUnderLimit[] {
  const today = getUtcDay(state.now());
  return created.filter(({ at }) => getUtcDay(at) < today);
}

/** Decides whether a generation of an earlier day is refunded now: most often around midnight. */
export function refundsEarlier(step: Step, created: readonly CreatedUnderLimit[]): boolean {
  return step.random.chance(isDayTurning(step.state) ? 0.7 : 0.4) && listEarlier(step, created).length > 0;
}

/**
 * Refunds a generation of an earlier day when the window of this day has been used: as staff do, or, if it has not
 * ended, by a cancellation.
 * @param created generations of one credential.
 * @param createAgain uses the present window.
 */
export async function refundEarlier(
  step: Step,
  created: CreatedUnderLimit[],
  createAgain: () => Promise<unknown>,
): Promise<void> {
  const earlier = step.random.pick(listEarlier(step, created).slice(-LATEST));
  created.splice(created.indexOf(earlier), 1);
  const observed = step.state.journal.generations.get(earlier.uuid);
  if (observed === undefined) return;
  await createAgain();
  if (observed.final === null) await sendCancel(step, observed);
  if (observed.final?.status === 'succeeded') await refundGeneration(step, earlier.uuid, 1);
}

/** Sends a create, unless its charge could be in the wrong window because a month passes. */
async function sendLimited(step: Step, key: LimitedKey, request: CreateRequest, address?: string) {
  if (key.hasWindow && !isMonthSettled(step.state)) return { isUnknown: false };
  const response = await sendCreate(step, request, address, key);
  if (response.isGood) {
    key.creditsUsed += response.body.credits_charged;
    key.created.push({ uuid: response.body.uuid, at: step.state.now() });
  }
  return response;
}

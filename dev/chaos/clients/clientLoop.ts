import { adjustCredits } from './actions/adjustCredits.ts';
import { useApplication } from './actions/applications.ts';
import { cancelGeneration, createAndCancel } from './actions/cancel.ts';
import { useMember } from './actions/members.ts';
import { createWithImage } from './actions/images.ts';
import { useMcpTools } from './actions/mcpTools.ts';
import {
  createDeniedContent,
  createGeneration,
  createMany,
  createOnceInParallel,
  createWithUsedKey,
} from './actions/create.ts';
import { changeKeys, tryPreviouslyRevokedKey } from './actions/keys.ts';
import { estimateAndCreate } from './actions/estimates.ts';
import { isDayTurning, useLimitedKey } from './actions/limitedKeys.ts';
import { useExpiringKey, useRestrictedKey } from './actions/restrictedKeys.ts';
import { readLists } from './actions/lists.ts';
import { readKnownGeneration } from './actions/read.ts';
import { redeemGiftCode } from './actions/redeemGiftCode.ts';
import { deleteAccount } from './actions/deleteAccount.ts';
import { deleteGeneration } from './actions/delete.ts';
import { refundSucceeded } from './actions/refundSucceeded.ts';
import { reversePlanPayments } from './actions/planPayments.ts';
import { refundOrDispute, refundWhileCreating } from './actions/refundOrDispute.ts';
import { suspendForAWhile } from './actions/suspend.ts';
import { changeSubscription } from './actions/subscriptions.ts';
import { changeWebhooks, sendTestEvents } from './actions/webhooks.ts';
import { useTestMode } from './actions/testMode.ts';
import { topUpWhileCreating, buyTopup, payWithLateEvent } from './actions/topups.ts';
import type { ChaosCustomer } from './customers.ts';
import { isUsable, onboardCustomer } from './onboardCustomer.ts';
import { sleepUnlessStopped, StoppedError, type Step, type ClientState } from './clientState.ts';

type ClientAction = (turn: Step) => Promise<void>;

/** The actions of clients, each with its weight. */
const ACTIONS: readonly (readonly [weight: number, action: ClientAction])[] = [
  [22, createGeneration],
  [22.5, readKnownGeneration],
  [10, readLists],
  [5, deleteGeneration],
  [4, cancelGeneration],
  [10, createAndCancel],
  [12, useMcpTools],
  [4, buyTopup],
  [2, topUpWhileCreating],
  [5, changeSubscription],
  [5, changeKeys],
  [1, tryPreviouslyRevokedKey],
  [1, refundOrDispute],
  [1, refundWhileCreating],
  [2, reversePlanPayments],
  [4, createMany],
  [8, createOnceInParallel],
  [0.5, createWithUsedKey],
  [9, useLimitedKey],
  [8, useApplication],
  [6, useMember],
  [3, createWithImage],
  [20, useRestrictedKey],
  [4, useExpiringKey],
  [3, estimateAndCreate],
  [1, createDeniedContent],
  [1.2, suspendForAWhile],
  [0.8, adjustCredits],
  [3, redeemGiftCode],
  [0.8, refundSucceeded],
  [1, deleteAccount],
  [3, changeWebhooks],
  [3, useTestMode],
];
const CALM_ACTIONS: readonly (readonly [weight: number, action: ClientAction])[] = [
  [40, createGeneration],
  [40, readKnownGeneration],
  [20, readLists],
];
/** Actions during a rush: everything that moves credits, on as many accounts as possible. */
const RUSH_ACTIONS: readonly (readonly [weight: number, action: ClientAction])[] = [
  [30, createMany],
  [25, createOnceInParallel],
  [30, topUpWhileCreating],
  [15, changeSubscription],
  [25, useLimitedKey],
];
/** Actions around midnight: charges in both windows of daily limits, and refunds of the earlier one. */
const DAY_TURN_ACTIONS: typeof ACTIONS = [
  [60, useLimitedKey],
  [30, useApplication],
  [10, createGeneration],
];
const READ_ONLY_ACTIONS: typeof ACTIONS = [[1, readLists]];
/** Actions of customers without a plan, whose payment comes too late and must be refunded. */
const UNSUBSCRIBED_ACTIONS: typeof ACTIONS = [
  [50, changeSubscription],
  [15, createGeneration],
  [10, useMcpTools],
  [10, readLists],
  [10, buyTopup],
  [5, changeKeys],
  [5, useTestMode],
];
const CREATE_ONLY_ACTIONS: typeof ACTIONS = [
  [50, createGeneration],
  [30, createMany],
  [20, readKnownGeneration],
];
const LIMITS_ONLY_ACTIONS: typeof ACTIONS = [
  [50, useLimitedKey],
  [50, useApplication],
];
const MEMBERS_ONLY_ACTIONS: typeof ACTIONS = [
  [90, useMember],
  [10, createGeneration],
];
const TOPUPS_ONLY_ACTIONS: typeof ACTIONS = [
  [60, createMany],
  [10, createAndCancel],
  [10, buyTopup],
  [3, refundOrDispute],
  [10, refundWhileCreating],
];
const PLANS_ONLY_ACTIONS: typeof ACTIONS = [
  [50, reversePlanPayments],
  [10, createGeneration],
  [10, readLists],
  [30, deleteAccount],
];
const SUSPENSIONS_ONLY_ACTIONS: typeof ACTIONS = [
  [70, createGeneration],
  [30, suspendForAWhile],
];
const LATE_PAYMENT_ACTIONS: typeof ACTIONS = [[1, payWithLateEvent]];
const TEST_ONLY_ACTIONS: typeof ACTIONS = [[1, sendTestEvents]];
/** Share of all actions on accounts that many clients use at once. */
const HOT_SHARE = 0.4;

/**
 * Runs one client until it is stopped. Its actions depend on the seed, on the number of its step, and on whether there
 * is a rush.
 */
export async function runClientLoop(state: ClientState, number: number): Promise<void> {
  const own = state.random.fork(`client ${number}`);
  const hot = state.customers.filter(({ role }) => role.isHot);
  await runUntilStopped(async () => {
    for (let index = 0; ; index += 1) {
      const random = own.fork(`turn ${index}`);
      const rushes = state.isRush?.() === true;
      if (rushes) state.lastRushAt = performance.now();
      const isHot = hot.length > 0 && !rushes && random.chance(HOT_SHARE);
      const customer = random.pick(isHot ? hot : state.customers);
      const step: Step = { state, customer, random, name: `${number}.${index}`, ids: 0 };
      const action = pickAction(step, selectActions(step, rushes));
      if (isUsable(step)) await action(step);
      await sleepUnlessStopped(state, rushes ? 0 : random.nextBetween(20, 200));
    }
  });
}

function selectActions({ state, customer: { role } }: Step, rushes: boolean): typeof ACTIONS {
  if (role.only === 'reads') return READ_ONLY_ACTIONS;
  if (role.only === 'tests') return TEST_ONLY_ACTIONS;
  if (role.only === 'late payments') return state.isCalm ? READ_ONLY_ACTIONS : LATE_PAYMENT_ACTIONS;
  if (role.only === 'creates') return CREATE_ONLY_ACTIONS;
  if (role.only === 'topups' && !state.isCalm) return TOPUPS_ONLY_ACTIONS;
  if (role.only === 'suspensions' && !state.isCalm) return SUSPENSIONS_ONLY_ACTIONS;
  if (role.only === 'plans' && !state.isCalm) return PLANS_ONLY_ACTIONS;
  if (role.only === 'limits' && !state.isCalm) return LIMITS_ONLY_ACTIONS;
  if (role.only === 'members' && !state.isCalm) return MEMBERS_ONLY_ACTIONS;
  if (role.plan === null && !state.isCalm) return UNSUBSCRIBED_ACTIONS;
  if (state.isCalm) return CALM_ACTIONS;
  return rushes ? RUSH_ACTIONS : isDayTurning(state) ? DAY_TURN_ACTIONS : ACTIONS;
}

function pickAction(
  { random }: Step,
  actions: readonly (readonly [weight: number, action: ClientAction])[],
): ClientAction {
  let rest = random.next() * actions.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, action] of actions) {
    rest -= weight;
    if (rest < 0) return action;
  }
  return createGeneration;
}

/** Onboards customers one after the other; several of these loops run at a time. */
export async function onboardCustomers(state: ClientState, waiting: ChaosCustomer[]): Promise<void> {
  await runUntilStopped(async () => {
    for (let customer = waiting.shift(); customer !== undefined; customer = waiting.shift()) {
      const step: Step = { state, customer, random: customer.random, name: `arrival ${customer.index}`, ids: 0 };
      await onboardCustomer(step);
    }
  });
}

async function runUntilStopped(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error;
  }
}

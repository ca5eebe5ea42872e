import { useApplication } from './actions/applications.ts';
import { deleteAccount } from './actions/deleteAccount.ts';
import {
  cancelGeneration,
  createAndCancel,
  createDeniedContent,
  createGeneration,
  createMany,
  createOnceInParallel,
  createWithImage,
  createWithUsedKey,
  deleteGeneration,
  estimateAndCreate,
  readKnownGeneration,
  useTestMode,
} from './actions/generations.ts';
import { changeKeys, tryPreviouslyRevokedKey, useExpiringKey, useRestrictedKey } from './actions/keys.ts';
import { isDayTurning, useLimitedKey } from './actions/limitedKeys.ts';
import { readLists } from './actions/lists.ts';
import { useMcpTools } from './actions/mcpTools.ts';
import { useMember } from './actions/members.ts';
import {
  buyTopup,
  changeSubscription,
  payWithLateEvent,
  refundOrDispute,
  refundWhileCreating,
  reversePlanPayments,
  topUpWhileCreating,
} from './actions/payments.ts';
import { adjustCredits, redeemGiftCode, refundSucceeded, suspendForAWhile } from './actions/staff.ts';
import { changeWebhooks, sendTestEvents } from './actions/webhooks.ts';
import { type ClientState, sleepUnlessStopped, type Step, StoppedError } from './clientState.ts';
import type { ChaosCustomer, CustomerRole } from './customers.ts';
import { isUsable, onboardCustomer } from './onboardCustomer.ts';

/** Actions of clients, each with its weight. */
type Actions = readonly (readonly [weight: number, action: (step: Step) => Promise<void>])[];

const ACTIONS: Actions = [
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
  [10, redeemGiftCode],
  [0.8, refundSucceeded],
  [1, deleteAccount],
  [3, changeWebhooks],
  [3, useTestMode],
];
const CALM: Actions = [
  [40, createGeneration],
  [40, readKnownGeneration],
  [20, readLists],
];
/** Everything that moves credits, on as many accounts as possible. */
const RUSH: Actions = [
  [30, createMany],
  [25, createOnceInParallel],
  [30, topUpWhileCreating],
  [15, changeSubscription],
  [25, useLimitedKey],
];
/** Around midnight: charges in both windows of daily limits, and refunds of the earlier one. */
const DAY_TURN: Actions = [
  [60, useLimitedKey],
  [30, useApplication],
  [10, createGeneration],
];
/** Customers without a plan, whose payment comes too late and must be refunded. */
const UNSUBSCRIBED: Actions = [
  [50, changeSubscription],
  [15, createGeneration],
  [10, useMcpTools],
  [10, readLists],
  [10, buyTopup],
  [5, changeKeys],
  [5, useTestMode],
];
/** Actions of customers that exist to find one kind of bug each. */
const ROLE_ACTIONS: Record<NonNullable<CustomerRole['only']>, Actions> = {
  reads: [[1, readLists]],
  tests: [[1, sendTestEvents]],
  'late payments': [[1, payWithLateEvent]],
  creates: [
    [50, createGeneration],
    [30, createMany],
    [20, readKnownGeneration],
  ],
  limits: [
    [50, useLimitedKey],
    [50, useApplication],
  ],
  members: [
    [90, useMember],
    [10, createGeneration],
  ],
  topups: [
    [60, createMany],
    [10, createAndCancel],
    [10, buyTopup],
    [3, refundOrDispute],
    [10, refundWhileCreating],
  ],
  plans: [
    [50, reversePlanPayments],
    [10, createGeneration],
    [10, readLists],
    [30, deleteAccount],
  ],
  suspensions: [
    [70, createGeneration],
    [30, suspendForAWhile],
  ],
};
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
      const actions = selectActions(step, rushes);
      let rest = random.next() * actions.reduce((sum, [weight]) => sum + weight, 0);
      const [, action] = actions.find(([weight]) => (rest -= weight) < 0) ?? [0, createGeneration];
      if (isUsable(step)) await action(step);
      await sleepUnlessStopped(state, rushes ? 0 : random.nextBetween(20, 200));
    }
  });
}

function selectActions({ state, customer: { role } }: Step, rushes: boolean): Actions {
  if (role.only === 'tests') return ROLE_ACTIONS.tests;
  if (state.isCalm) return role.only === 'reads' || role.only === 'late payments' ? ROLE_ACTIONS.reads : CALM;
  if (role.only !== null) return ROLE_ACTIONS[role.only];
  if (role.plan === null) return UNSUBSCRIBED;
  return rushes ? RUSH : isDayTurning(state) ? DAY_TURN : ACTIONS;
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

import { assist } from './actions/assistant.ts';
import { create, createMany, createOnceInParallel, createUnderUsedKey } from './actions/create.ts';
import { changeKeys, tryOldKey } from './actions/keys.ts';
import { look } from './actions/lists.ts';
import { read } from './actions/read.ts';
import { remove } from './actions/remove.ts';
import { reverse } from './actions/reverse.ts';
import { changeSubscription } from './actions/subscribe.ts';
import { buyWhileOrdering, topUp } from './actions/topUp.ts';
import type { Customer } from './customers.ts';
import { isAtWork, settleIn } from './settleIn.ts';
import { sleep, Stopped, type Turn, type World } from './world.ts';

type Action = (turn: Turn) => Promise<void>;

/** What clients do, and how often, in a hundred. */
const ACTIONS: readonly (readonly [weight: number, action: Action])[] = [
  [28, create],
  [22.5, read],
  [10, look],
  [5, remove],
  [12, assist],
  [4, topUp],
  [2, buyWhileOrdering],
  [5, changeSubscription],
  [3, changeKeys],
  [1, tryOldKey],
  [1, reverse],
  [4, createMany],
  [8, createOnceInParallel],
  [0.5, createUnderUsedKey],
];
const CALM: readonly (readonly [weight: number, action: Action])[] = [
  [40, create],
  [40, read],
  [20, look],
];
/** When everybody comes at once: whatever moves credits, on as many accounts as there are. */
const RUSH: readonly (readonly [weight: number, action: Action])[] = [
  [30, createMany],
  [25, createOnceInParallel],
  [30, buyWhileOrdering],
  [15, changeSubscription],
];
const LOOKS: typeof ACTIONS = [[1, look]];
/** Those without a plan, whose money comes too late: it is owed back. */
const UNSUBSCRIBED: typeof ACTIONS = [
  [50, changeSubscription],
  [15, create],
  [10, assist],
  [10, look],
  [10, topUp],
  [5, changeKeys],
];
const ORDERS: typeof ACTIONS = [
  [70, create],
  [10, createMany],
  [20, read],
];
/** How much of all is done on accounts that many use at once. */
const HOT = 0.4;

/**
 * One client, which goes on for as long as it may. What it does depends on the seed and the number of its turn, and on
 * whether everybody comes at once.
 */
export async function runClient(world: World, number: number): Promise<void> {
  const own = world.random.fork(`client ${number}`);
  const hot = world.customers.filter(({ role }) => role.isHot);
  await untilStopped(async () => {
    for (let index = 0; ; index += 1) {
      const random = own.fork(`turn ${index}`);
      const rushes = world.isRush?.() === true;
      const isHot = hot.length > 0 && !rushes && random.chance(HOT);
      const customer = random.pick(isHot ? hot : world.customers);
      const turn: Turn = { world, customer, random, name: `${number}.${index}`, ids: 0 };
      const action = pickAction(turn, actionsFor(turn, rushes));
      if (isAtWork(turn)) await action(turn);
      await sleep(world, rushes ? 0 : random.between(20, 200));
    }
  });
}

function actionsFor({ world, customer: { role } }: Turn, rushes: boolean): typeof ACTIONS {
  if (role.only === 'looks') return LOOKS;
  if (role.only === 'orders') return ORDERS;
  if (role.plan === null && !world.isCalm) return UNSUBSCRIBED;
  return world.isCalm ? CALM : rushes ? RUSH : ACTIONS;
}

function pickAction({ random }: Turn, actions: readonly (readonly [weight: number, action: Action])[]): Action {
  let rest = random.next() * actions.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, action] of actions) {
    rest -= weight;
    if (rest < 0) return action;
  }
  return create;
}

/** Makes people customers, one after the other; several of these run at a time. */
export async function runArrivals(world: World, waiting: Customer[]): Promise<void> {
  await untilStopped(async () => {
    for (let customer = waiting.shift(); customer !== undefined; customer = waiting.shift()) {
      const turn: Turn = { world, customer, random: customer.random, name: `arrival ${customer.index}`, ids: 0 };
      await settleIn(turn);
    }
  });
}

async function untilStopped(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
}

import { assist } from './actions/assistant.ts';
import { create, createMany, createOnceInParallel, createUnderUsedKey } from './actions/create.ts';
import { changeKeys, tryOldKey } from './actions/keys.ts';
import { look } from './actions/lists.ts';
import { read } from './actions/read.ts';
import { remove } from './actions/remove.ts';
import { reverse } from './actions/reverse.ts';
import { changeSubscription } from './actions/subscribe.ts';
import { topUp } from './actions/topUp.ts';
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
  [5, changeSubscription],
  [3, changeKeys],
  [1, tryOldKey],
  [1, reverse],
  [3, createMany],
  [5, createOnceInParallel],
  [0.5, createUnderUsedKey],
];
const CALM: readonly (readonly [weight: number, action: Action])[] = [
  [40, create],
  [40, read],
  [20, look],
];
/** How much of all is done on accounts that many use at once. */
const HOT = 0.4;

/** One client, which goes on for as long as it may. What it does depends on the seed and the number of its turn. */
export async function runClient(world: World, number: number): Promise<void> {
  const own = world.random.fork(`client ${number}`);
  const hot = world.customers.filter(({ role }) => role.isHot);
  await untilStopped(async () => {
    for (let index = 0; ; index += 1) {
      const random = own.fork(`turn ${index}`);
      const customer = random.pick(hot.length > 0 && random.chance(HOT) ? hot : world.customers);
      const turn: Turn = { world, customer, random, name: `${number}.${index}`, ids: 0 };
      const action = pickAction(turn);
      if (isAtWork(turn)) await action(turn);
      await sleep(world, random.between(20, 200));
    }
  });
}

function pickAction({ world, random }: Turn): Action {
  const actions = world.isCalm ? CALM : ACTIONS;
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

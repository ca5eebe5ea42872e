import type { Customer } from './customers.ts';
import { goodKeysOf } from './customers.ts';
import { download, readOne } from './actions/read.ts';
import { readLedger, readUsage } from './actions/lists.ts';
import { tryRevoked } from './actions/keys.ts';
import type { ClientViolation } from './violations.ts';
import { accuseOf, openWorld, sleep, type Surroundings, type Turn, type World } from './world.ts';

/** Of what there is a lot of, so much is looked at for each customer. */
const SAMPLE = 6;
const TRIES = 10;

/** Asks the service once more for what clients were told. @returns what it denies. */
export async function checkQuiet(around: Surroundings, { books, customers }: World): Promise<ClientViolation[]> {
  const world: World = { ...openWorld(around), books, customers };
  const known = books.violations.length;
  try {
    for (const customer of customers) await checkCustomer(world, customer);
  } finally {
    await world.agent.close();
  }
  return books.violations.slice(known);
}

async function checkCustomer(world: World, customer: Customer): Promise<void> {
  if (customer.uuid === null || goodKeysOf(customer).length === 0) return;
  const random = customer.random.fork('quiet');
  const turn: Turn = { world, customer, random, name: `quiet ${customer.index}`, ids: 0 };
  await checkBalances(turn);
  for (const key of customer.keys.filter(({ revokedAt }) => revokedAt !== null).slice(-SAMPLE)) {
    for (const address of world.addresses) await tryRevoked(turn, key, address);
  }
  for (const uuid of customer.generations.slice(-SAMPLE)) {
    const told = world.books.generations.get(uuid);
    if (told === undefined) continue;
    const answer = await readOne(turn, told);
    if (answer.isGood && answer.body.status === 'succeeded') await download(turn, told);
  }
}

/** The usage summary, and the newest entry of the ledger: nothing is under way that would change either. */
async function checkBalances(turn: Turn): Promise<void> {
  const { world, customer } = turn;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const usage = await readUsage(turn);
    const ledger = await readLedger(turn);
    if (usage !== undefined && ledger !== undefined) {
      if (usage !== ledger) accuseOf(turn, 'balances-agree', customer.email, `${usage} by usage, ${ledger} by ledger`);
      return;
    }
    await sleep(world, 200);
  }
  accuseOf(turn, 'balances-agree', customer.email, `neither was told in ${TRIES} tries`);
}

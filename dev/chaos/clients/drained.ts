import type { ChaosCustomer } from './customers.ts';
import { getActiveKeys } from './customers.ts';
import { downloadOutput, readGeneration } from './actions/read.ts';
import { readLedgerPage, readUsageSummary } from './actions/lists.ts';
import { tryRevokedKey } from './actions/keys.ts';
import { checkDrainedWebhooks } from './webhooks/drainedWebhooks.ts';
import type { ClientViolation } from './violations.ts';
import {
  reportViolation,
  createClientState,
  sleepUnlessStopped,
  type ClientOptions,
  type Step,
  type ClientState,
} from './clientState.ts';

/** Number of samples per customer, where there are many. */
const SAMPLE_SIZE = 6;
const MAX_ATTEMPTS = 10;

/** Repeats earlier reads. @returns the violations. */
export async function checkDrained(
  options: ClientOptions,
  { store, customers }: ClientState,
): Promise<ClientViolation[]> {
  const state: ClientState = { ...createClientState(options), store, customers };
  const known = store.violations.length;
  try {
    for (const customer of customers) await checkCustomer(state, customer);
  } finally {
    await state.agent.close();
  }
  return store.violations.slice(known);
}

async function checkCustomer(state: ClientState, customer: ChaosCustomer): Promise<void> {
  if (customer.uuid === null || getActiveKeys(customer).length === 0) return;
  const random = customer.random.fork('drained');
  const step: Step = { state, customer, random, name: `drained ${customer.index}`, ids: 0 };
  await checkBalances(step);
  await checkDrainedWebhooks(step);
  for (const key of customer.keys.filter(({ revokedAt }) => revokedAt !== null).slice(-SAMPLE_SIZE)) {
    for (const address of state.addresses) await tryRevokedKey(step, key, address);
  }
  for (const uuid of customer.generations.slice(-SAMPLE_SIZE)) {
    const observed = state.store.generations.get(uuid);
    if (observed === undefined) continue;
    const response = await readGeneration(step, observed);
    if (response.isGood && response.body.status === 'succeeded') await downloadOutput(step, observed);
  }
}

/** Compares the usage summary with the newest ledger entry; nothing is in progress that would change either. */
async function checkBalances(step: Step): Promise<void> {
  const { state, customer } = step;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const usage = await readUsageSummary(step);
    const ledger = await readLedgerPage(step);
    if (usage !== undefined && ledger !== undefined) {
      if (usage !== ledger)
        reportViolation(step, 'balances-agree', customer.email, `${usage} by usage, ${ledger} by ledger`);
      return;
    }
    await sleepUnlessStopped(state, 200);
  }
  reportViolation(step, 'balances-agree', customer.email, `neither could be read in ${MAX_ATTEMPTS} attempts`);
}

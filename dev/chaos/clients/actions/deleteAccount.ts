import { createGeneration } from './create.ts';
import { createKey, tryRevokedKey } from './keys.ts';
import { createCustomers, type ChaosCustomer } from '../customers.ts';
import { findCsrfToken, sendPageRequest } from '../pageRequests.ts';
import { discoverOrigin, onboardCustomer, sendWithSession, signInCustomer } from '../onboardCustomer.ts';
import { newStepId, sleepUnlessStopped, type Step } from '../clientState.ts';

const DELETION_PATH = '/account/delete/';
const MAX_ATTEMPTS = 20;
const UNDO_SHARE = 0.4;

/**
 * Signs up a customer of its own, who creates something and then deletes the account on its page, through all faults.
 * From the acknowledgement on, every process must reject its keys. Some undo the deletion and continue.
 */
export async function deleteAccount(step: Step): Promise<void> {
  const leaving: Step = { ...step, customer: createLeavingCustomer(step), name: `${step.name}.leaving` };
  const { customer, state, random } = leaving;
  await onboardCustomer(leaving);
  await createGeneration(leaving);
  const { email } = customer;
  const accountUuid = customer.uuid as string;
  for (const key of customer.keys) key.revokeRequestedAt = performance.now();
  forgetPersonalData(leaving);
  if (!(await submitUntil(leaving, DELETION_PATH, { email }, (page) => page.includes(`${DELETION_PATH}undo/`)))) return;
  for (const key of customer.keys) key.revokedAt = performance.now();
  for (const key of customer.keys)
    await Promise.all(state.addresses.map((address) => tryRevokedKey(leaving, key, address)));
  const deletion = { accountUuid, email, isUndone: false };
  state.store.deletions.push(deletion);
  if (!random.chance(UNDO_SHARE)) return;
  const isUndone = (page: string) => page.includes(`action="${DELETION_PATH}"`) || page.includes('again=yes');
  if (!(await submitUntil(leaving, `${DELETION_PATH}undo/`, {}, isUndone))) {
    // The outcome is unknown, or the week was over.
    state.store.deletions.splice(state.store.deletions.indexOf(deletion), 1);
    return;
  }
  deletion.isUndone = true;
  await createKey(leaving, (request) => sendWithSession(leaving, request));
}

function createLeavingCustomer(step: Step): ChaosCustomer {
  const [customer] = createCustomers(1, step.random.fork('leaving')) as [ChaosCustomer];
  const email = `leaving-${newStepId(step)}@example.com`;
  const absent = { isHot: false, hasAutoTopups: false, isAffiliate: false, hasEndpoints: false, usesWebhookUrl: false };
  return { ...customer, email, role: { ...customer.role, ...absent } };
}

/** Removes what the comparison with the database would miss after the erasure: the address and the prompts. */
function forgetPersonalData({ customer, state: { store } }: Step): void {
  const accountUuid = customer.uuid as string;
  store.accounts.delete(accountUuid);
  for (const [uuid, { accountUuid: owner }] of store.generations) {
    if (owner === accountUuid) store.generations.delete(uuid);
  }
}

/**
 * Submits a form of the deletion page until the page shows the result.
 * @returns false if it did not in all attempts.
 */
async function submitUntil(
  step: Step,
  action: string,
  fields: Record<string, string>,
  isDone: (page: string) => boolean,
): Promise<boolean> {
  const { state, random } = step;
  const kind = `page ${action}`;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await sleepUnlessStopped(state, random.nextBetween(200, 1_000));
    const address = random.pick(state.addresses);
    const origin = await discoverOrigin(step, address);
    const page = await sendPageRequest(step, { kind, method: 'GET', path: DELETION_PATH, address });
    if (page.status === 302 || page.status === 303) {
      if (!(await signInAgain(step))) return false;
    }
    if (page.status !== 200 || origin === null) continue;
    if (isDone(page.text)) return true;
    const token = findCsrfToken(page.text);
    if (token === undefined || !page.text.includes(`action="${action}"`)) {
      // The session ended, or the sign-in is too long ago.
      if (!(await signInAgain(step))) return false;
      continue;
    }
    const form = { csrf_token: token, ...fields };
    await sendPageRequest(step, { kind, method: 'POST', path: action, address, origin, form });
  }
  return false;
}

/** Signs in again. @returns false if the address has another account: the week was over, and the account is erased. */
async function signInAgain(step: Step): Promise<boolean> {
  const { customer, state } = step;
  const accountUuid = customer.uuid;
  customer.uuid = null;
  // The account may be erased while the sign-in waits for it.
  const isSignedIn = await signInCustomer(step, undefined, ['not_found']);
  const isSame = !isSignedIn || customer.uuid === accountUuid;
  if (customer.uuid !== null) state.store.accounts.delete(customer.uuid);
  customer.uuid = accountUuid;
  return isSame;
}

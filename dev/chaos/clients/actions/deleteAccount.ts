import { getPlanSlugs } from '../../../../shared/lib/catalog/catalog.ts';
import { everywhere, newStepId, retryUntilDone, sleepUnlessStopped, type Step } from '../clientState.ts';
import { type ChaosCustomer, createCustomers } from '../customers.ts';
import type { AccountDeletion } from '../journal.ts';
import { onboardCustomer } from '../onboardCustomer.ts';
import { findCsrfToken, isSignedOut, sendPageRequest } from '../pageRequests.ts';
import { callWithSession, discoverOrigin, signInCustomer } from '../sessions.ts';
import { createGeneration } from './generations.ts';
import { createKey, tryRevokedKey } from './keys.ts';
import { openCheckoutPage, requestCheckoutPage, requestTopup, tryAtProcessor } from './payments.ts';

const DELETION_PATH = '/account/delete/';
const MAX_ATTEMPTS = 20;
const UNDO_SHARE = 0.4;
/** Length of the year that ends before the deletion, and the time after which its renewal is processed. */
const YEAR_SECONDS = 3;
const RENEWAL_WAIT_MS = 4_500;
/** The payment processor is asked this often whether renewals have stopped. */
const STOP_READS = 16;

/**
 * Payments around the deletion: the year ends just before it, so that the invoice of the next one is a draft, or a page
 * that was opened before it is paid after it.
 */
type Payments = 'renewal' | 'late plan' | 'late top-up';

/**
 * Signs up a customer of its own, who creates something and then deletes the account on its page, through all faults.
 * From the acknowledgement on, every process must reject its keys. Some undo the deletion and continue.
 */
export async function deleteAccount(step: Step): Promise<void> {
  const payments = step.random.pick<Payments>(['renewal', 'renewal', 'renewal', 'late plan', 'late top-up']);
  const leaving: Step = { ...step, customer: createLeavingCustomer(step, payments), name: `${step.name}.leaving` };
  const { customer, state, random } = leaving;
  const { deletions } = state.journal;
  await onboardCustomer(leaving);
  if (payments === 'renewal') await startRenewal(leaving);
  const latePage = await openLatePage(leaving, payments);
  await createGeneration(leaving);
  const { email } = customer;
  const accountUuid = customer.uuid as string;
  for (const key of customer.keys) key.revokeRequestedAt = performance.now();
  leavePersonalDataOut(leaving);
  // Read before the erasure, which deletes the customer.
  const customerId = tryAtProcessor(() => state.stripe.findCustomerId(accountUuid)) ?? null;
  const requestedAt = performance.now();
  if (!(await submitUntil(leaving, DELETION_PATH, { email }, (page) => page.includes(`${DELETION_PATH}undo/`)))) return;
  const acknowledgedAt = state.now();
  if (latePage !== null) tryAtProcessor(() => state.stripe.completeCheckout(latePage));
  for (const key of customer.keys) key.revokedAt = performance.now();
  for (const key of customer.keys) await everywhere(leaving, (address) => tryRevokedKey(leaving, key, address));
  const deletion = { accountUuid, email, isUndone: false, customerId, acknowledgedAt, stoppedAt: null };
  deletions.push(deletion);
  if (latePage === null) await watchRenewals(leaving, deletion, requestedAt);
  if (!random.chance(UNDO_SHARE)) return;
  // The outcome is unknown until a page shows it, which the end of the run may prevent.
  deletions.splice(deletions.indexOf(deletion), 1);
  const isUndone = (page: string) => page.includes(`action="${DELETION_PATH}"`) || page.includes('again=yes');
  if (!(await submitUntil(leaving, `${DELETION_PATH}undo/`, {}, isUndone))) return;
  deletions.push({ ...deletion, isUndone: true });
  await createKey(leaving, callWithSession);
}

/**
 * Subscribes for some seconds, and lets the payment processor start the renewal, whose invoice is a draft for an hour.
 */
async function startRenewal(step: Step): Promise<void> {
  const { state, random } = step;
  await openCheckoutPage(step, random.pick(getPlanSlugs()), true, { yearSeconds: YEAR_SECONDS });
  await sleepUnlessStopped(state, RENEWAL_WAIT_MS);
  state.stripe.processDue();
}

/** Opens the page that is paid after the request. @returns its URL; null without one. */
async function openLatePage(step: Step, payments: Payments): Promise<string | null> {
  if (payments === 'late plan') return requestCheckoutPage(step, step.random.pick(getPlanSlugs()));
  return payments === 'renewal' ? null : ((await requestTopup(step, 5_000)).body?.checkout_url ?? null);
}

/**
 * Records when the payment processor has stopped all renewals. Nothing is recorded if a clock was wrong meanwhile: the
 * year may not have ended by that clock.
 */
async function watchRenewals(step: Step, deletion: AccountDeletion, requestedAt: number): Promise<void> {
  const { state, random } = step;
  for (let read = 0; read < STOP_READS; read += 1) {
    const subscription = tryAtProcessor(() => state.stripe.findSubscription(deletion.accountUuid));
    if (subscription === undefined) return;
    if (subscription.status === 'canceled' || subscription.cancel_at !== null) {
      if (state.haveClocksAgreedSince(requestedAt)) deletion.stoppedAt = state.now();
      return;
    }
    await sleepUnlessStopped(state, random.nextBetween(400, 600));
  }
}

function createLeavingCustomer(step: Step, payments: Payments): ChaosCustomer {
  const [customer] = createCustomers(1, step.random.fork('leaving')) as [ChaosCustomer];
  const email = `leaving-${newStepId(step)}@example.com`;
  const absent = { isHot: false, hasAutoTopups: false, isAffiliate: false, hasEndpoints: false, usesWebhookUrl: false };
  const plan = payments === 'late top-up' ? customer.role.plan : null;
  return { ...customer, email, isLeaving: true, role: { ...customer.role, ...absent, plan } };
}

/** Removes what the comparison with the database would miss after the erasure: the address and the prompts. */
function leavePersonalDataOut({ customer, state: { journal } }: Step): void {
  journal.accounts.delete(customer.uuid as string);
  for (const [uuid, { accountUuid }] of journal.generations)
    if (accountUuid === customer.uuid) journal.generations.delete(uuid);
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
  const kind = `page ${action}`;
  let isErased = false;
  const isOver = async () => {
    const address = step.random.pick(step.state.addresses);
    const origin = await discoverOrigin(step, address);
    const page = await sendPageRequest(step, { kind, path: DELETION_PATH, address });
    const token = findCsrfToken(page.text);
    const hasForm = token !== undefined && page.text.includes(`action="${action}"`);
    if (page.status === 200 && origin !== null && isDone(page.text)) return true;
    // The session ended, or the sign-in is too long ago.
    if (isSignedOut(page) || (page.status === 200 && origin !== null && !hasForm))
      return (isErased = !(await signInAgain(step)));
    if (page.status === 200 && origin !== null && hasForm)
      await sendPageRequest(step, { kind, path: action, address, origin, form: { csrf_token: token, ...fields } });
    return false;
  };
  return (await retryUntilDone(step, isOver, MAX_ATTEMPTS)) && !isErased;
}

/** Signs in again. @returns false if the address has another account: the week was over, and the account is erased. */
async function signInAgain(step: Step): Promise<boolean> {
  const { customer, state } = step;
  const accountUuid = customer.uuid;
  customer.uuid = null;
  const isSignedIn = await signInCustomer(step);
  const isSame = !isSignedIn || customer.uuid === accountUuid;
  if (customer.uuid !== null) state.journal.accounts.delete(customer.uuid);
  customer.uuid = accountUuid;
  return isSame;
}

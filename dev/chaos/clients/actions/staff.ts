import { setTimeout as delay } from 'node:timers/promises';
import { sha256 } from '../../../../shared/lib/secrets.ts';
import { call } from '../api.ts';
import { everywhere, newStepId, report, retryUntilDone, type Step, StoppedError } from '../clientState.ts';
import { getActiveKeys, type Suspension } from '../customers.ts';
import { newCreateRequests, sendCreate } from './generations.ts';

const MAX_CREDITS = 500;
const MAX_GRANTS = 5;

/**
 * Grants credits as staff do, through the admin command. A command whose outcome is unknown is repeated with the same
 * request name, and now and then one that succeeded: the credits must be in the ledger once.
 */
export async function adjustCredits(step: Step): Promise<void> {
  const { customer, state, random } = step;
  const request = newStepId(step);
  const credits = random.nextBetween(1, MAX_CREDITS);
  const adjustment = { accountUuid: customer.uuid as string, request, credits, isConfirmed: false };
  state.journal.adjustments.push(adjustment);
  const grant = () =>
    state.runAdmin(['grant-credits', customer.email, String(credits), '--request', request, '--apply']);
  adjustment.isConfirmed = await retryUntilDone(step, grant, MAX_GRANTS);
  if (random.chance(0.3)) await Promise.all([grant(), grant()]);
}

/** Refunds a generation that has succeeded as staff do, by several commands at once. It must be refunded once. */
export async function refundSucceeded(step: Step): Promise<void> {
  const { generations } = step.state.journal;
  const candidates = step.customer.generations.filter((uuid) => generations.get(uuid)?.final?.status === 'succeeded');
  if (candidates.length > 0) await refundGeneration(step, step.random.pick(candidates), 2);
}

/** Refunds one generation that has succeeded, by some commands at once. */
export async function refundGeneration({ state, name }: Step, uuid: string, times: number): Promise<void> {
  const { generations, staffRefunds } = state.journal;
  const { accountUuid, credits } = generations.get(uuid) as { accountUuid: string; credits: number };
  const command = ['refund-generation', uuid, '--reason', `chaos ${name}`, '--apply'];
  const results = await Promise.all(Array.from({ length: times }, () => state.runAdmin(command)));
  if (results.includes(true)) staffRefunds.push({ uuid, accountUuid, credits });
}

const GIFT_CREDITS = 3;
/** Fewer than the customers that redeem a code at the same time. */
const GIFT_USES = 5;
const CODES = Array.from({ length: 100 }, (_, index) => `GIFT${String(index).padStart(16, '0')}`);

/** Statement that creates the gift codes of a run. */
export const GIFT_CODES_SQL = `
  INSERT INTO gift_codes (uuid, code_hash, prefix, credits, uses_max, note, created_at)
  SELECT gen_random_uuid(), decode(hash, 'hex'), 'GIFT-0000', ${GIFT_CREDITS}, ${GIFT_USES}, 'chaos', now()
    FROM unnest(ARRAY['${CODES.map((code) => sha256(code).toString('hex')).join("', '")}']) AS hash`;

/** Has several customers redeem one code at the same time, each of them twice. */
export async function redeemGiftCode(step: Step): Promise<void> {
  const code = step.random.pick(CODES);
  const ready = step.state.customers.filter((customer) => customer.isReady && getActiveKeys(customer).length > 0);
  const redeem = async (customer: Step['customer']) => {
    const own = { ...step, customer };
    const request = () =>
      call(own, 'redeem a gift code', (api) => api.send('POST /api/gift-codes/redeem/', { code }), {
        expects: ['validation_error', 'rate_limited'],
      });
    const responses = await Promise.all([request(), request()]);
    if (responses.every(({ isGood }) => isGood))
      report(own, 'gift-code-is-redeemed-once', code, 'both requests were accepted');
  };
  await Promise.all(ready.slice(0, 2 * GIFT_USES).map(redeem));
}

const CREATES_PER_ADDRESS = 4;
const COMMAND_RETRY_MS = 500;
const COMMAND_ATTEMPTS = 120;

/**
 * Suspends a customer as staff do, through the admin command and all faults. From the acknowledgement on, every process
 * must reject its keys; `call` checks the responses to these requests and to those of all other clients. The
 * customer is reinstated in the end, also when clients are stopped.
 */
export async function suspendForAWhile(step: Step): Promise<void> {
  const { customer, state, random } = step;
  if (customer.suspensions.some(({ liftedAt }) => liftedAt === null)) return;
  const requestedAt = performance.now();
  const suspension: Suspension = { requestedAt, confirmedAt: null, liftRequestedAt: null, liftedAt: null };
  customer.suspensions.push(suspension);
  try {
    await repeatCommand(step, 'suspend-account', true);
    suspension.confirmedAt = performance.now();
    await everywhere(step, (address) =>
      Promise.all([
        ...newCreateRequests(step, CREATES_PER_ADDRESS).map((request) => sendCreate(step, request, address)),
        call(step, 'use suspended account', (api) => api.usage.summary(), { address }),
      ]),
    );
    await delay(random.nextBetween(0, 1_500), undefined, { signal: state.stopping.signal }).catch(() => {});
  } finally {
    suspension.liftRequestedAt = performance.now();
    await repeatCommand(step, 'reinstate-account', false);
    suspension.liftedAt = performance.now();
  }
}

/** Repeats a command until it reports success: after a failure its outcome is unknown. */
async function repeatCommand({ state, customer, name }: Step, command: string, mayStop: boolean): Promise<void> {
  for (let attempt = 0; attempt < COMMAND_ATTEMPTS; attempt += 1) {
    if (await state.runAdmin([command, customer.email, '--reason', `chaos ${name}`, '--apply'])) return;
    if (mayStop && state.stopping.signal.aborted) throw new StoppedError();
    await delay(COMMAND_RETRY_MS);
  }
  throw new Error(`${command} did not succeed in ${COMMAND_ATTEMPTS} attempts.`);
}

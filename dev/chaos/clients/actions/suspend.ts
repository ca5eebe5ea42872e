import { setTimeout as delay } from 'node:timers/promises';
import { sendCreate } from './create.ts';
import { newCreateRequest } from '../createRequests.ts';
import { sendWithKey } from '../restRequests.ts';
import { newStepId, type Step, StoppedError } from '../clientState.ts';
import type { Suspension } from '../suspensions.ts';

const CREATES_PER_ADDRESS = 4;
const RETRY_MS = 500;
const MAX_ATTEMPTS = 120;

/**
 * Suspends a customer as staff do, through the admin command and all faults. From the acknowledgement on, every process
 * must reject its keys; `sendRest` checks the responses to these requests and to those of all other clients. The
 * customer is reinstated in the end, also when clients are stopped.
 */
export async function suspendForAWhile(step: Step): Promise<void> {
  const { customer, state, random } = step;
  if (customer.suspensions.some(({ liftedAt }) => liftedAt === null)) return;
  const suspension: Suspension = {
    requestedAt: performance.now(),
    confirmedAt: null,
    liftRequestedAt: null,
    liftedAt: null,
  };
  customer.suspensions.push(suspension);
  try {
    await repeatCommand(step, 'suspend-account', true);
    suspension.confirmedAt = performance.now();
    await Promise.all(state.addresses.map((address) => useSuspendedAccount(step, address)));
    await delay(random.nextBetween(0, 1_500), undefined, { signal: state.stopping.signal }).catch(() => {});
  } finally {
    suspension.liftRequestedAt = performance.now();
    await repeatCommand(step, 'reinstate-account', false);
    suspension.liftedAt = performance.now();
  }
}

/** Sends requests that must be rejected. */
async function useSuspendedAccount(step: Step, address: string): Promise<void> {
  const creates = Array.from({ length: CREATES_PER_ADDRESS }, (_, index) =>
    sendCreate(step, newCreateRequest(step, index % 2 === 0 ? null : newStepId(step)), address),
  );
  const read = sendWithKey(step, {
    kind: 'use suspended account',
    method: 'GET',
    path: '/api/usage/summary/',
    address,
    status: 403,
    shape: 'error',
  });
  await Promise.all([...creates, read]);
}

/** Repeats a command until it reports success: after a failure its outcome is unknown. */
async function repeatCommand(step: Step, command: string, mayStop: boolean): Promise<void> {
  const { state, customer } = step;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (await state.runAdmin([command, customer.email, '--reason', `chaos ${step.name}`, '--apply'])) return;
    if (mayStop && state.stopping.signal.aborted) throw new StoppedError();
    await delay(RETRY_MS);
  }
  throw new Error(`${command} did not succeed in ${MAX_ATTEMPTS} attempts.`);
}

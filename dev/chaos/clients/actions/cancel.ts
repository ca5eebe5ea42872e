import type { ObservedGeneration } from '../clientStore.ts';
import { newCreateRequest } from '../createRequests.ts';
import { recordShownGeneration } from '../observedGenerations.ts';
import { sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { newStepId, reportViolation, type Step } from '../clientState.ts';
import { sendCreate } from './create.ts';
import { pickKnownGeneration } from './read.ts';

const PARALLEL_REQUESTS = 3;

/** Cancels a known generation, whatever its state is. */
export async function cancelGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known !== undefined) await sendCancel(step, known);
}

/** Creates a generation and cancels it at once, several times at the same moment, over all addresses. */
export async function createAndCancel(step: Step): Promise<void> {
  const response = await sendCreate(step, newCreateRequest(step, newStepId(step)));
  const known = step.state.store.generations.get(response.isGood ? (response.body.uuid as string) : '');
  if (known === undefined) return;
  const { addresses } = step.state;
  const sent = Array.from({ length: PARALLEL_REQUESTS }, (_, index) =>
    sendCancel(step, known, addresses[index % addresses.length]),
  );
  await Promise.all(sent);
}

/** Cancels a generation until the outcome of the request is known, and compares the response with its status. */
export async function sendCancel(step: Step, known: ObservedGeneration, address?: string): Promise<void> {
  known.cancelRequestedAt ??= performance.now();
  const response = await retryUntilKnown(step, () =>
    sendWithKey(step, {
      kind: 'cancel',
      method: 'POST',
      path: `/api/generations/${known.uuid}/cancel/`,
      // Another client may delete it while the request is on its way: checked below.
      expectedErrors: ['not_found'],
      status: 200,
      pendingStatus: 202,
      shape: 'generation',
      ...(address === undefined ? {} : { address }),
    }),
  );
  if (response.status === 404 && known.deleteRequestedAt === null)
    reportViolation(step, 'created-exists', known.uuid, 'is not found by a cancellation, and no client deleted it');
  if (!response.isGood) return;
  recordShownGeneration(step, response.body, response.beganAt);
  const isQueued = response.body.status === 'queued';
  if (isQueued === (response.status === 202)) return;
  const detail = `the response to a cancellation has the status ${response.status} and is ${response.body.status}`;
  reportViolation(step, 'cancel-returns-the-outcome', known.uuid, detail);
}

import { sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { reportViolation, type Step } from '../clientState.ts';
import { pickKnownGeneration, readGeneration } from './read.ts';

/** Deletes a generation, queued or not, and checks that it is gone. */
export async function deleteGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known === undefined || known.deleteRequestedAt !== null) return;
  known.deleteRequestedAt = performance.now();
  const response = await retryUntilKnown(step, (attempt) =>
    sendWithKey(step, {
      kind: 'delete',
      method: 'DELETE',
      path: `/api/generations/${known.uuid}/`,
      // An earlier attempt may have deleted it.
      expectedErrors: attempt === 0 ? [] : ['not_found'],
      status: 204,
      shape: 'nothing',
    }),
  );
  if (!response.isGood && response.status !== 404) return;
  known.deletedAt = performance.now();
  const after = await readGeneration(step, known);
  if (after.isGood)
    reportViolation(step, 'deleted-is-gone', known.uuid, 'is still readable after its deletion was acknowledged');
  // Some stay among the generations that are read now and then.
  const { generations } = step.customer;
  const index = generations.indexOf(known.uuid);
  if (index >= 0 && step.random.chance(0.7)) generations.splice(index, 1);
}

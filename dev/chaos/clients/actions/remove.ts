import { ask } from '../ask.ts';
import { untilKnown } from '../repeat.ts';
import { accuseOf, type Turn } from '../world.ts';
import { pickKnown, readOne } from './read.ts';

/** Deletes a generation, queued or not, and sees that it is gone. */
export async function remove(turn: Turn): Promise<void> {
  const known = pickKnown(turn);
  if (known === undefined || known.deleteAskedAt !== null) return;
  known.deleteAskedAt = performance.now();
  const answer = await untilKnown(turn, (attempt) =>
    ask(turn, {
      kind: 'delete',
      method: 'DELETE',
      path: `/api/generations/${known.uuid}/`,
      // One that was sent before may have done it.
      mayBe: attempt === 0 ? [] : ['not_found'],
      status: 204,
      shape: 'nothing',
    }),
  );
  if (!answer.isGood && answer.status !== 404) return;
  known.deletedAt = performance.now();
  const after = await readOne(turn, known);
  if (after.isGood) accuseOf(turn, 'deleted-is-gone', known.uuid, 'is read after its deletion was answered');
  // Some stay among those that are asked for now and then.
  const { generations } = turn.customer;
  const index = generations.indexOf(known.uuid);
  if (index >= 0 && turn.random.chance(0.7)) generations.splice(index, 1);
}

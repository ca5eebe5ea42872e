import type { GenerationTold } from './books.ts';
import { accuseOf, type Turn } from './world.ts';

/** What an answer says of a generation; of lists and tools, too. */
interface Shown {
  uuid: string;
  prompt: string;
  /** Missing in list_library. */
  model?: string;
  status: string;
  output_url: string | null;
  credits_charged: number;
}

/**
 * Holds what is said of a generation against what was said before.
 * @param beganAt when the request began that told it: what was seen by then holds.
 */
export function noteShown(turn: Turn, shown: Shown, beganAt: number): void {
  const known = turn.world.books.generations.get(shown.uuid);
  if (known === undefined) return noteUnknown(turn, shown);
  const { uuid } = known;
  known.seen[shown.status] = (known.seen[shown.status] ?? 0) + 1;
  if (known.accountUuid !== turn.customer.uuid) accuseOf(turn, 'lists-are-ones-own', uuid, `is ${known.accountUuid}'s`);
  for (const [what, told, now] of [
    ['prompt', known.prompt, shown.prompt],
    ['model', known.model, shown.model ?? known.model],
    ['credits_charged', known.credits, shown.credits_charged],
  ] as const) {
    if (told !== now) accuseOf(turn, 'created-is-there', uuid, `${what} was ${told} and is ${now}`);
  }
  if (known.deletedAt !== null && beganAt > known.deletedAt) {
    accuseOf(
      turn,
      'deleted-is-gone',
      uuid,
      `is shown ${Math.round(beganAt - known.deletedAt)} ms after it was deleted`,
    );
  }
  noteStatus(turn, known, shown, beganAt);
}

function noteStatus(turn: Turn, known: GenerationTold, shown: Shown, beganAt: number): void {
  const { uuid, final } = known;
  const { status, output_url: url } = shown;
  // Each process may take itself to be at another address; the path is what they share.
  const outputPath = url === null ? null : new URL(url).pathname;
  if (status === 'queued') {
    if (final !== null && beganAt > final.at) {
      accuseOf(turn, 'end-is-final', uuid, `was ${final.status} and is queued`);
    }
    return;
  }
  if ((status === 'succeeded') !== (outputPath !== null)) {
    accuseOf(turn, 'output-can-be-fetched', uuid, `is ${status}, and output_url is ${url}`);
  }
  if (final === null) known.final = { status: status as 'succeeded' | 'failed', outputPath, at: performance.now() };
  else if (final.status !== status || final.outputPath !== outputPath) {
    accuseOf(turn, 'end-is-final', uuid, `was ${final.status} ${final.outputPath} and is ${status} ${outputPath}`);
  }
}

/** One whose 201 was lost on the way: it must be of an order of this customer. */
function noteUnknown(turn: Turn, { uuid, prompt }: Shown): void {
  const order = turn.world.books.orders.get(prompt);
  if (order === undefined) return accuseOf(turn, 'nothing-unasked-for', uuid, `"${prompt}" was never ordered`);
  if (order.accountUuid !== turn.customer.uuid) {
    accuseOf(turn, 'lists-are-ones-own', uuid, `was ordered by ${order.accountUuid}`);
  }
}

import { type Answer, ask } from '../ask.ts';
import type { GenerationTold } from '../books.ts';
import { noteShown } from '../generations.ts';
import { enter, send } from '../send.ts';
import { accuseOf, type Turn } from '../world.ts';

/** Looks at a generation that is known, or waits a little for its end; downloads it now and then. */
export async function read(turn: Turn): Promise<void> {
  const known = pickKnown(turn);
  if (known === undefined) return;
  const wait = turn.random.chance(0.1) ? turn.random.between(1, 3) : 0;
  const answer = await readOne(turn, known, wait);
  if (answer.isGood && answer.body.status === 'succeeded' && turn.random.chance(0.3)) await download(turn, known);
}

/** One of the latest generations of the account; some of them may be deleted. */
export function pickKnown({ world, customer, random }: Turn): GenerationTold | undefined {
  const uuid = customer.generations.length === 0 ? undefined : random.pick(customer.generations);
  return world.books.generations.get(uuid ?? '');
}

export async function readOne(turn: Turn, known: GenerationTold, waitSeconds = 0): Promise<Answer> {
  const answer = await ask(turn, {
    kind: waitSeconds === 0 ? 'read' : 'wait for the end',
    method: 'GET',
    path: `/api/generations/${known.uuid}/${waitSeconds === 0 ? '' : `?wait=${waitSeconds}`}`,
    mayBe: ['not_found'],
    status: 200,
    shape: 'generation',
  });
  if (answer.isGood) noteShown(turn, answer.body, answer.beganAt);
  else if (answer.status === 404 && known.deleteAskedAt === null) {
    accuseOf(turn, 'created-is-there', known.uuid, 'was answered with 201, and nobody has deleted it: it is not found');
  }
  return answer;
}

const TYPES = /^(image|video)\//;

/** Downloads what was made, once, by way of any address. */
export async function download(turn: Turn, known: GenerationTold): Promise<void> {
  const path = known.final?.outputPath;
  if (path == null || known.isFetched) return;
  known.isFetched = true;
  const { world, random } = turn;
  const kind = 'download';
  const address = random.pick(world.addresses);
  const reply = await send(world, { kind, method: 'GET', path, address, headers: {} });
  enter(world, kind, reply, null);
  const { status, headers, text } = reply;
  if (typeof status !== 'number' || status >= 500 || known.deleteAskedAt !== null) {
    known.isFetched = false;
    return;
  }
  const type = String(headers['content-type']);
  if (status === 200 && TYPES.test(type) && text !== '') return;
  accuseOf(turn, 'output-can-be-fetched', known.uuid, `${path} is answered with ${status} ${type}`);
}

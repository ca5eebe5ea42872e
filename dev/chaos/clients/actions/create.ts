import { type Answer, ask, pickKey, type Question } from '../ask.ts';
import { newOrder, noteOrdered, noteSent, type Order } from '../orders.ts';
import { untilKnown } from '../repeat.ts';
import { accuseOf, newId, type Turn } from '../world.ts';

/** How many orders come at once in a burst. */
const BURST = 10;
const PARALLEL = 4;

/** Orders something; where the order has a name, until it is known what became of it, and now and then once more. */
export async function create(turn: Turn): Promise<void> {
  const { random } = turn;
  const order = newOrder(turn, random.chance(0.6) ? newId(turn) : null);
  if (order.told.idempotencyKey === null) {
    await sendOrder(turn, order);
    return;
  }
  const answer = await untilKnown(turn, () => sendOrder(turn, order));
  if (answer.isGood && random.chance(0.15)) await sendOrder(turn, order);
}

/** Many orders of one account at the same moment, over all addresses. */
export async function createMany(turn: Turn): Promise<void> {
  const orders = Array.from({ length: BURST }, (_, index) => newOrder(turn, index % 2 === 0 ? null : newId(turn)));
  await Promise.all(orders.map((order) => sendOrder(turn, order)));
}

/** One order, sent several times at the same moment under one key. */
export async function createOnceInParallel(turn: Turn): Promise<void> {
  const order = newOrder(turn, newId(turn));
  const { addresses } = turn.world;
  const sent = Array.from({ length: PARALLEL }, (_, index) =>
    sendOrder(turn, order, addresses[index % addresses.length]),
  );
  await Promise.all(sent);
}

/** Another order under a key that was used is refused, and not carried out. */
export async function createUnderUsedKey(turn: Turn): Promise<void> {
  const order = newOrder(turn, newId(turn));
  const first = await untilKnown(turn, () => sendOrder(turn, order));
  if (!first.isGood || order.told.isStale) return;
  const other = newOrder(turn, order.told.idempotencyKey);
  const answer = await sendOrder(turn, other);
  if (!answer.isGood || other.told.isStale) return;
  accuseOf(turn, 'same-key-same-answer', String(order.told.idempotencyKey), 'another order was accepted under it');
}

/** Sends an order once, and enters what came of it. */
export async function sendOrder(turn: Turn, order: Order, address?: string): Promise<Answer> {
  const { told, params } = order;
  const question: Question = {
    kind: 'create',
    method: 'POST',
    path: '/api/generations/create/',
    body: { model: told.model, prompt: told.prompt, params },
    headers: told.idempotencyKey === null ? {} : { 'idempotency-key': told.idempotencyKey },
    mayBe: [
      'subscription_required',
      'insufficient_credits',
      'parallel_limit_reached',
      'model_unavailable',
      // Another order under a key that was used.
      ...(told.idempotencyKey === null ? [] : (['validation_error'] as const)),
    ],
    status: 201,
    shape: 'generation',
    ...(address === undefined ? {} : { address }),
  };
  const key = pickKey(turn);
  noteSent(turn, order);
  const answer = await ask(turn, question, key);
  noteOrdered(turn, order, answer, answer.body, 'REST');
  return answer;
}

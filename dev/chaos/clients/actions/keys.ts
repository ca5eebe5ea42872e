import { type Answer, ask, type Question } from '../ask.ts';
import type { KeyTold } from '../books.ts';
import { goodKeysOf } from '../customers.ts';
import { untilKnown } from '../repeat.ts';
import { accuseOf, newId, type Turn } from '../world.ts';
import { knock } from './assistant.ts';

const PARALLEL = 4;
/** Of those that are known: more are revoked rather than made. */
const KEYS_MAX = 5;

/** Makes a key, or revokes one and sees that it is no good any more. */
export async function changeKeys(turn: Turn): Promise<void> {
  const good = goodKeysOf(turn.customer);
  const isToRevoke = good.length > 1 && (good.length >= KEYS_MAX || turn.random.chance(0.5));
  if (isToRevoke) await revoke(turn, turn.random.pick(good));
  else await makeKey(turn, (question) => ask(turn, question));
}

/**
 * Makes a key; under a name of the request, so that no key is made that nobody knows.
 * @param via sends the request with a credential.
 */
export async function makeKey(turn: Turn, via: (question: Question) => Promise<Answer>): Promise<KeyTold | undefined> {
  const idempotencyKey = newId(turn);
  const name = `key ${idempotencyKey}`;
  const startedAt = turn.world.now();
  const question: Question = {
    kind: 'make key',
    method: 'POST',
    path: '/api/keys/create/',
    body: { name },
    headers: { 'idempotency-key': idempotencyKey },
    // There may be twenty already, of which some are not known.
    mayBe: ['validation_error'],
    status: 201,
    shape: 'createdKey',
  };
  const { keysUnderWay } = turn.world;
  keysUnderWay.add(name);
  const answer = await untilKnown(turn, () => via(question));
  const told = answer.isGood ? noteKey(turn, answer.body) : undefined;
  keysUnderWay.delete(name);
  if (answer.status === 400) await revokeUnknown(turn, via);
  if (told === undefined) return undefined;
  if (!turn.random.chance(0.2)) return told;
  const again = await via(question);
  const isSameDay = turn.world.now().getTime() - startedAt.getTime() < 20 * 3_600_000;
  if (again.isGood && again.body.uuid !== told.uuid && isSameDay) {
    accuseOf(turn, 'same-key-same-answer', idempotencyKey, `${told.uuid} and ${again.body.uuid}`);
  }
  return told;
}

function noteKey({ world, customer }: Turn, { uuid, key }: { uuid: string; key: string }): KeyTold {
  const told: KeyTold = { uuid, key, accountUuid: customer.uuid as string, revokeAskedAt: null, revokedAt: null };
  world.books.keys.set(uuid, told);
  customer.keys.push(told);
  return told;
}

/** Makes room, where there are as many keys as there may be: those of which nobody has the text are of no use. */
async function revokeUnknown(turn: Turn, via: (question: Question) => Promise<Answer>): Promise<void> {
  const listed = await via({ kind: 'list keys', method: 'GET', path: '/api/keys/', status: 200, shape: 'apiKeys' });
  if (!listed.isGood) return;
  for (const { uuid, name, revoked } of listed.body.data as { uuid: string; name: string; revoked: boolean }[]) {
    const isKnown = turn.world.books.keys.has(uuid) || turn.world.keysUnderWay.has(name);
    if (!revoked && !isKnown) await via(revocationOf(uuid));
  }
}

function revocationOf(uuid: string): Question {
  return { kind: 'revoke key', method: 'POST', path: `/api/keys/${uuid}/revoke/`, status: 200, shape: 'revoked' };
}

/** Revokes a key, sometimes several times at once, and tries it everywhere as soon as that is answered. */
async function revoke(turn: Turn, key: KeyTold): Promise<void> {
  key.revokeAskedAt = performance.now();
  const times = turn.random.chance(0.25) ? PARALLEL : 1;
  const answers = await Promise.all(
    Array.from({ length: times }, () => untilKnown(turn, () => ask(turn, revocationOf(key.uuid)))),
  );
  if (!answers.some(({ isGood }) => isGood)) return;
  key.revokedAt = performance.now();
  await Promise.all(turn.world.addresses.map((address) => tryRevoked(turn, key, address)));
}

/** Tries a key that was revoked some time ago. */
export async function tryOldKey(turn: Turn): Promise<void> {
  const revoked = turn.customer.keys.filter(({ revokedAt }) => revokedAt !== null);
  if (revoked.length > 0) await tryRevoked(turn, turn.random.pick(revoked), turn.random.pick(turn.world.addresses));
}

/** Asks with a key that is to be refused; `ask` sees to it that it is. */
export async function tryRevoked(turn: Turn, key: KeyTold, address: string): Promise<void> {
  const uuid = turn.customer.generations.at(-1) ?? crypto.randomUUID();
  const common = { kind: 'use revoked key', address } as const;
  const mayBe = ['not_found', 'validation_error', 'subscription_required', 'insufficient_credits'] as const;
  switch (turn.random.below(4)) {
    case 0:
      await ask(
        turn,
        { ...common, method: 'GET', path: `/api/generations/${uuid}/`, mayBe, status: 401, shape: 'error' },
        key,
      );
      break;
    case 1:
      await ask(
        turn,
        {
          ...common,
          method: 'DELETE',
          path: `/api/generations/${crypto.randomUUID()}/`,
          mayBe,
          status: 401,
          shape: 'error',
        },
        key,
      );
      break;
    case 2:
      await knock(turn, key, address);
      break;
    default:
      await ask(
        turn,
        { ...common, method: 'GET', path: '/api/usage/summary/', mayBe, status: 401, shape: 'error' },
        key,
      );
  }
}

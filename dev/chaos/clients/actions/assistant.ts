import type { KeyTold } from '../books.ts';
import { noteShown } from '../generations.ts';
import { callTool, initialize, openSession, type ToolAnswer } from '../mcp.ts';
import { newOrder, noteOrdered, noteSent } from '../orders.ts';
import { untilKnown } from '../repeat.ts';
import { problemOf, type Shape } from '../shapes.ts';
import { accuseOf, newId, type Turn } from '../world.ts';
import { sendOrder } from './create.ts';
import { noteUsage } from './lists.ts';
import { pickKnown } from './read.ts';

/** What an assistant does: orders half of the time, and looks. */
export async function assist(turn: Turn): Promise<void> {
  if (!(await openSession(turn))) return;
  if (turn.random.chance(0.4)) await order(turn);
  else await turn.random.pick([getGeneration, listLibrary, getUsage])(turn);
}

/** Orders by a tool, under a key of ours or under the request's id; what is lost on the way is asked for again. */
async function order(turn: Turn): Promise<void> {
  const { random } = turn;
  const order = newOrder(turn, random.chance(0.5) ? newId(turn) : null);
  const { told, params } = order;
  const id = nextId(turn);
  const session = turn.customer.session?.id;
  const call = async (): Promise<ToolAnswer> => {
    noteSent(turn, order);
    const answer = await callTool(turn, {
      name: told.model === 'imgmodel-2' ? 'generate_image' : 'generate_video',
      args: { prompt: told.prompt, ...params },
      id,
      idempotencyKey: told.idempotencyKey,
      mayBe: ['subscription_required', 'insufficient_credits', 'parallel_limit_reached', 'model_unavailable'],
    });
    if (answer.isGood) requireShape(turn, 'generation', answer);
    noteOrdered(turn, order, answer, answer.structured, 'MCP');
    return answer;
  };
  const answer = await untilKnown(turn, async () => {
    // An id names a request within its session: in another one, it would be another order.
    const isNamed = told.idempotencyKey !== null || turn.customer.session?.id === session;
    return isNamed && (await openSession(turn)) ? call() : GIVEN_UP;
  });
  if (!('structured' in answer) || !answer.isGood || !random.chance(0.2)) return;
  // The same key names the same order on the other surface.
  if (told.idempotencyKey !== null) await sendOrder(turn, order);
  else if (turn.customer.session?.id === session) await call();
}

const GIVEN_UP = { isUnknown: false } as const;

async function getGeneration(turn: Turn): Promise<void> {
  const known = pickKnown(turn);
  if (known === undefined) return;
  const args = { uuid: known.uuid, wait_seconds: turn.random.chance(0.2) ? turn.random.between(1, 3) : 0 };
  const answer = await look(turn, 'get_generation', args, 'generation');
  if (answer.isGood) noteShown(turn, answer.structured, answer.beganAt);
  else if (answer.code === 'not_found' && known.deleteAskedAt === null) {
    accuseOf(turn, 'created-is-there', known.uuid, 'get_generation does not find it, and nobody has deleted it');
  }
}

async function listLibrary(turn: Turn): Promise<void> {
  const answer = await look(turn, 'list_library', { page: turn.random.between(1, 2) }, 'library');
  if (answer.isGood) for (const shown of answer.structured.data) noteShown(turn, shown, answer.beganAt);
}

async function getUsage(turn: Turn): Promise<void> {
  const answer = await look(turn, 'get_usage', {}, 'usage');
  if (answer.isGood) noteUsage(turn, answer.structured);
}

async function look(turn: Turn, name: string, args: object, shape: Shape): Promise<ToolAnswer> {
  const mayBe = name === 'get_generation' ? (['not_found'] as const) : [];
  const answer = await callTool(turn, { name, args, id: nextId(turn), idempotencyKey: null, mayBe });
  if (answer.isGood) requireShape(turn, shape, answer);
  return answer;
}

function nextId({ customer }: Turn): number {
  const { session } = customer;
  if (session === null) return 1;
  session.requests += 1;
  return session.requests;
}

function requireShape(turn: Turn, shape: Shape, { structured }: ToolAnswer): void {
  const problem = problemOf(shape, structured);
  if (problem !== null) accuseOf(turn, 'answers-as-described', shape, `${problem}: ${JSON.stringify(structured)}`);
}

/** Introduces a client with a key that is to be refused. */
export async function knock(turn: Turn, key: KeyTold, address: string): Promise<void> {
  await initialize(turn, key, address);
}

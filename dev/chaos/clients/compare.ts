import type { Queryable, Violation } from '../../../shared/domain/invariants/invariant.ts';
import { compareKeys, comparePlans, compareTopups } from './comparePayments.ts';
import type { ClientBooks, GenerationTold, OrderTold } from './books.ts';
import { accuse, type ClientViolation, type Rule } from './violations.ts';

/** Writes down what the database denies. */
export type Accuse = (rule: Rule, accountUuid: string, subject: string, detail: string) => void;

interface Row {
  uuid: string;
  account_uuid: string;
  model: string;
  prompt: string;
  status: string;
  credits_charged: number;
  deleted_at: Date | null;
}

/**
 * Holds the clients' books against the database, when all has settled.
 * @returns what clients saw to be wrong at once, with the ids of the accounts, and then what the database denies.
 */
export async function compareBooks(books: ClientBooks, client: Queryable): Promise<Violation[]> {
  const found: ClientViolation[] = [];
  const accuseBy: Accuse = (rule, accountUuid, subject, detail) => accuse(found, rule, accountUuid, subject, detail);
  await compareGenerations(books, client, accuseBy);
  await compareKeys(books, client, accuseBy);
  await compareTopups(books, client, accuseBy);
  await comparePlans(books, client, accuseBy);
  const { rows } = await client.query('SELECT id::text AS id, uuid, email FROM accounts');
  const accounts = new Map(rows.map((row: { id: string; uuid: string; email: string }) => [row.uuid, row]));
  for (const [uuid, email] of books.accounts) {
    if (accounts.get(uuid)?.email !== email)
      accuseBy('created-is-there', uuid, email, `there is no account ${uuid} of it`);
  }
  return [...books.violations, ...found].map((violation) => ({
    ...violation,
    accountId: accounts.get(violation.accountUuid ?? '')?.id ?? null,
  }));
}

async function compareGenerations(books: ClientBooks, client: Queryable, accuseBy: Accuse): Promise<void> {
  const { rows } = await client.query(
    // The prompts of those that were deleted a month ago have been purged.
    `SELECT g.uuid, a.uuid AS account_uuid, g.model, p.prompt, g.status, g.credits_charged, g.deleted_at
       FROM generations g JOIN accounts a ON a.id = g.account_id JOIN chaos.prompts p ON p.generation = g.uuid
      WHERE a.uuid = ANY ($1::uuid[])`,
    [[...books.accounts.keys()]],
  );
  const kept = rows as Row[];
  const byUuid = new Map(kept.map((row) => [row.uuid, row]));
  for (const told of books.generations.values()) compareGeneration(told, byUuid.get(told.uuid), accuseBy);
  const byPrompt = new Map<string, Row[]>();
  for (const row of kept) byPrompt.set(row.prompt, [...(byPrompt.get(row.prompt) ?? []), row]);
  for (const [prompt, made] of byPrompt) compareOrder(books.orders.get(prompt), made, accuseBy);
}

function compareGeneration(told: GenerationTold, row: Row | undefined, accuseBy: Accuse): void {
  const { uuid, accountUuid, final } = told;
  if (row === undefined) {
    accuseBy(
      'created-is-there',
      accountUuid,
      uuid,
      `was answered with 201 by ${told.surface}, and is not in the database`,
    );
    return;
  }
  for (const [what, was, is] of [
    ['account', accountUuid, row.account_uuid],
    ['model', told.model, row.model],
    ['prompt', told.prompt, row.prompt],
    ['credits_charged', told.credits, row.credits_charged],
  ] as const) {
    if (was !== is) accuseBy('created-is-there', accountUuid, uuid, `${what} was told as ${was} and is ${is}`);
  }
  if (final !== null && final.status !== row.status) {
    accuseBy('end-is-final', accountUuid, uuid, `was seen ${final.status} and is ${row.status}`);
  }
  if (told.deletedAt !== null && row.deleted_at === null) {
    accuseBy('deleted-is-gone', accountUuid, uuid, 'its deletion was answered, and it is not deleted');
  }
  if (told.deleteAskedAt === null && row.deleted_at !== null) {
    accuseBy('deleted-is-gone', accountUuid, uuid, 'it is deleted, and nobody has asked for that');
  }
}

/** What an order has led to. */
function compareOrder(order: OrderTold | undefined, made: Row[], accuseBy: Accuse): void {
  const uuids = made.map(({ uuid }) => uuid).join(', ');
  const [first] = made as [Row];
  if (order === undefined) {
    accuseBy('nothing-unasked-for', first.account_uuid, uuids, `"${first.prompt}" was never ordered`);
    return;
  }
  if (order.isStale) return;
  const { accountUuid, sent, refused, prompt } = order;
  if (made.length > 1)
    accuseBy('one-order-one-generation', accountUuid, prompt, `sent ${sent} times, it has made ${uuids}`);
  if (sent === refused) accuseBy('refused-is-not-charged', accountUuid, prompt, `was refused, and has made ${uuids}`);
  if (first.account_uuid !== accountUuid) {
    accuseBy('lists-are-ones-own', accountUuid, uuids, `belongs to ${first.account_uuid}`);
  }
}

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Transaction } from 'objection';
import { v4 as uuidv4 } from 'uuid';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import { ServiceError } from '../../spec/errors.ts';
import { IDEMPOTENCY_KEY_RETENTION_MS } from '../../spec/limits.ts';
import { IdempotentRequest } from '../../tables/IdempotentRequest.ts';

/**
 * Requests that come with an Idempotency-Key: the first that succeeds is carried out, and its answer given to all
 * (docs/decisions.md: Idempotency-Key). Refusals are not remembered. The creation of generations does without: there the
 * key is a column of what is created.
 */

/** One that has not ended after so long has died with its process, and is carried out anew. */
const ABANDONED_AFTER_MS = 60_000;
const WAIT_TIMEOUT_MS = 10_000;
const POLL_INTERVAL_MS = 100;

/** The refusal of a key that came with another request before. */
export function keyReusedError(): ServiceError {
  return new ServiceError(
    'validation_error',
    'Idempotency-Key was used for another request: use a new key for each new request.',
  );
}

export interface IdempotentRequestInput {
  accountId: number;
  /** What it does, such as `keys.create`: the same key may serve for something else. */
  scope: string;
  /** null where the client gave none: then it is carried out each time. */
  key: string | null;
  /** What is asked for, as JSON. */
  request: unknown;
}

/** How an answer is remembered together with what it answers for, where that is one transaction. */
export type SaveResponse<Answer> = (transaction: Transaction, answer: Answer) => Promise<void>;

/**
 * @param work carries the request out. It gets an id that is the same when it has to be carried out again, and a way to
 *   have its answer remembered in its own transaction.
 * @throws ServiceError validation_error where the key came with another request before.
 */
export async function executeIdempotent<Answer>(
  request: IdempotentRequestInput,
  work: (id: string, remember: SaveResponse<Answer>) => Promise<Answer>,
): Promise<{ answer: Answer; isReplay: boolean }> {
  const { key } = request;
  if (key === null) return { answer: await work(uuidv4(), async () => {}), isReplay: false };
  const keyed = { ...request, key };
  const deadline = performance.now() + WAIT_TIMEOUT_MS;
  for (;;) {
    const claimed = await claimRequest(keyed);
    if (claimed !== undefined) return { answer: await executeAndSave(keyed, claimed, work), isReplay: false };
    const first = await waitForResponse(keyed, deadline);
    if (first !== null) return { answer: first.answer as Answer, isReplay: true };
  }
}

async function executeAndSave<Answer>(
  keyed: KeyedRequest,
  { id }: IdempotentRequest,
  work: (id: string, remember: SaveResponse<Answer>) => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await work(id, (transaction, result) => storeResponse(keyed, result, transaction));
    await storeResponse(keyed, answer);
    return answer;
  } catch (error) {
    const pending = queryRequest(keyed).where({ id }).whereNull('answer');
    if (error instanceof ServiceError && !error.isServiceFault) await pending.delete();
    // Something may have been done for it: whoever asks again takes it up at once, under the same id.
    else await pending.patch({ created_at: addMilliseconds(now(), -ABANDONED_AFTER_MS) });
    throw error;
  }
}

type KeyedRequest = IdempotentRequestInput & { key: string };

function queryRequest({ accountId, scope, key }: KeyedRequest, transaction?: Transaction) {
  return IdempotentRequest.query(transaction).where({ account_id: accountId, scope, key_hash: hash(key) });
}

/** @returns the row for whoever is to carry the request out; undefined where somebody has, or is about to. */
async function claimRequest(keyed: KeyedRequest): Promise<IdempotentRequest | undefined> {
  const row = {
    account_id: keyed.accountId,
    scope: keyed.scope,
    key_hash: hash(keyed.key),
    id: uuidv4(),
    request_hash: hash(JSON.stringify(keyed.request)),
    created_at: now(),
  };
  await IdempotentRequest.query().insert(row).onConflict(['account_id', 'scope', 'key_hash']).ignore();
  const existing = await queryRequest(keyed).first();
  if (existing?.id === row.id) return existing;
  if (existing !== undefined && !existing.request_hash.equals(row.request_hash)) {
    throw keyReusedError();
  }
  const abandonedBefore = addMilliseconds(now(), -ABANDONED_AFTER_MS);
  const [takenOver] = await queryRequest(keyed)
    .whereNull('answer')
    .where('created_at', '<=', abandonedBefore)
    .patch({ created_at: now() })
    .returning('*');
  return takenOver;
}

/** @returns null where the first was refused, or has died: this one may try by itself. */
async function waitForResponse(keyed: KeyedRequest, deadline: number): Promise<{ answer: unknown } | null> {
  for (;;) {
    const row = await queryRequest(keyed).first();
    if (row?.answer != null) return { answer: decrypt(row.answer, keyed) };
    if (performance.now() > deadline) break;
    if (row === undefined || row.created_at <= addMilliseconds(now(), -ABANDONED_AFTER_MS)) return null;
    await setTimeout(POLL_INTERVAL_MS);
  }
  throw new ServiceError(
    'internal_error',
    'The first request with this Idempotency-Key has not been answered. Try again.',
    { retryAfterSeconds: 5 },
  );
}

async function storeResponse(keyed: KeyedRequest, answer: unknown, transaction?: Transaction): Promise<void> {
  const updatedRows = await queryRequest(keyed, transaction)
    .whereNull('answer')
    .patch({ answer: encrypt(answer, keyed) });
  // Another one has answered in the meantime: what this transaction did is undone.
  if (transaction !== undefined && updatedRows === 0) throw new Error('The request was answered already.');
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * By the Idempotency-Key, of which only a hash is stored, and a secret of the service, as an answer may hold an API key's
 * text: clients choose keys that can be guessed, and then a copy of the database alone must not be enough.
 */
function encrypt(answer: unknown, keyed: KeyedRequest): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveEncryptionKey(keyed), iv);
  const text = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]);
}

function decrypt(stored: Buffer, keyed: KeyedRequest): unknown {
  try {
    return decryptJson(deriveEncryptionKey(keyed), stored);
  } catch {
    throw new ServiceError(
      'validation_error',
      'Idempotency-Key was used for a request that was carried out, and its answer can no longer be read. Look at what it made, and use a new key.',
    );
  }
}

function decryptJson(secret: Buffer, stored: Buffer): unknown {
  const decipher = createDecipheriv('aes-256-gcm', secret, stored.subarray(0, IV_BYTES));
  decipher.setAuthTag(stored.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(stored.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(text.toString('utf8'));
}

function deriveEncryptionKey({ accountId, scope, key }: KeyedRequest): Buffer {
  return createHmac('sha256', getServerSecret()).update(`answer ${accountId} ${scope} ${key}`).digest();
}

/** A secret that is not in the database. Changed within a day, it makes stored answers unreadable, and they are refused. */
function getServerSecret(): string {
  return config.SECRET_KEY ?? new URL(config.DATABASE_URL).password;
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const PRUNE_BATCH = 1_000;

const PRUNE = prepared(
  'prune_idempotent_requests',
  `DELETE FROM idempotent_requests
    WHERE (account_id, scope, key_hash) IN (SELECT account_id, scope, key_hash FROM idempotent_requests
                                             WHERE created_at <= :before ORDER BY created_at LIMIT ${PRUNE_BATCH})
   RETURNING account_id`,
);

/** Deletes requests that are more than a day old. */
export async function pruneIdempotentRequests(): Promise<void> {
  const before = addMilliseconds(now(), -IDEMPOTENCY_KEY_RETENTION_MS);
  while ((await runStatement(PRUNE, { before })).length === PRUNE_BATCH);
}

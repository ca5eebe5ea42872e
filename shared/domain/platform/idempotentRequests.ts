import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Transaction } from 'objection';
import { toCanonicalJson } from '../../lib/canonicalJson.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { decryptText, deriveKey, encryptText } from '../../lib/encryption.ts';
import { ServiceError } from '../../spec/errors.ts';
import { IdempotentRequest } from '../../tables/IdempotentRequest.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { sha256 } from '../../lib/secrets.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';

/**
 * Requests with an Idempotency-Key: the first one that succeeds is executed, and repeated ones receive its response
 * (docs/decisions.md: Idempotency-Key). Rejections are not stored. Creating a generation does not use this table: there
 * the key is a column of the generation.
 */

/** Age after which a request without a response belongs to a process that died, and is executed again. */
const ABANDONED_AFTER_MS = MINUTE_MS;
/** A request waits this long for earlier ones with its key, so that it is answered within five seconds. */
const WAIT_TIMEOUT_MS = 3_000;
const POLL_INTERVAL_MS = 100;

/** Error for a key that was used for another request. */
export function keyReusedError(): ServiceError {
  return new ServiceError(
    'validation_error',
    'Idempotency-Key was used for another request: use a new key for each new request.',
  );
}

export interface IdempotentRequestInput {
  accountId: number;
  /** Name of the operation, such as `keys.create`. Other operations may use the same key. */
  scope: string;
  /** null if the client sent no key: the request is then executed every time. */
  key: string | null;
  /** Parsed request, compared as JSON whatever the order of its fields. */
  request: unknown;
}

/** Saves the response in the transaction that makes the change. */
export type SaveResponse<Response> = (transaction: Transaction, response: Response) => Promise<void>;

/**
 * Executes a request once per key. A repeated one receives the response of the first.
 * @param work executes the request. Its id stays the same if it has to be executed again after a crash. It may save the
 *   response in its own transaction.
 * @throws ServiceError validation_error if the key was used for another request.
 */
export async function executeIdempotent<Response>(
  request: IdempotentRequestInput,
  work: (id: string, saveResponse: SaveResponse<Response>) => Promise<Response>,
): Promise<{ response: Response; isReplay: boolean }> {
  const { key } = request;
  if (key === null) return { response: await work(randomUUID(), async () => {}), isReplay: false };
  const keyed = { ...request, key };
  const waitUntil = performance.now() + WAIT_TIMEOUT_MS;
  for (;;) {
    const claimed = await claimRequest(keyed);
    if (claimed !== undefined) return { response: await executeAndSave(keyed, claimed, work), isReplay: false };
    const first = await waitForResponse(keyed, waitUntil);
    if (first !== null) return { response: first.response as Response, isReplay: true };
  }
}

async function executeAndSave<Response>(
  keyed: KeyedRequest,
  { id }: IdempotentRequest,
  work: (id: string, saveResponse: SaveResponse<Response>) => Promise<Response>,
): Promise<Response> {
  try {
    const response = await work(id, (transaction, result) => storeResponse(keyed, result, transaction));
    await storeResponse(keyed, response);
    return response;
  } catch (error) {
    const pending = queryRequest(keyed).where({ id }).whereNull('response');
    if (error instanceof ServiceError && !error.isServiceFault) await pending.delete();
    // It may have had effects. Mark it abandoned, so that a repeated request resumes it under the same id; without the
    // mark one does so after a minute. The response does not wait for it: an outage would delay both.
    else void pending.patch({ created_at: addMilliseconds(now(), -ABANDONED_AFTER_MS) }).catch(() => {});
    throw error;
  }
}

type KeyedRequest = IdempotentRequestInput & { key: string };

function queryRequest({ accountId, scope, key }: KeyedRequest, transaction?: Transaction) {
  return IdempotentRequest.query(transaction).where({ account_id: accountId, scope, key_hash: sha256(key) });
}

/** Claims the request. @returns its row, or undefined if it has a response or is being executed elsewhere. */
async function claimRequest(keyed: KeyedRequest): Promise<IdempotentRequest | undefined> {
  const row = {
    account_id: keyed.accountId,
    scope: keyed.scope,
    key_hash: sha256(keyed.key),
    id: randomUUID(),
    request_hash: sha256(toCanonicalJson(keyed.request)),
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
    .whereNull('response')
    .where('created_at', '<=', abandonedBefore)
    .patch({ created_at: now() })
    .returning('*');
  return takenOver;
}

/**
 * Waits for the response to the first request. When that one is rejected, and another one follows, waits for that.
 * @param waitUntil on the clock of `performance`.
 * @returns null if there is none, or it was abandoned: claim again.
 */
async function waitForResponse(keyed: KeyedRequest, waitUntil: number): Promise<{ response: unknown } | null> {
  for (;;) {
    const row = await queryRequest(keyed).first();
    if (row?.response != null) return { response: decrypt(row.response, keyed) };
    if (row === undefined || row.created_at <= addMilliseconds(now(), -ABANDONED_AFTER_MS)) return null;
    if (performance.now() > waitUntil) break;
    await setTimeout(POLL_INTERVAL_MS);
  }
  throw new ServiceError(
    'internal_error',
    'The first request with this Idempotency-Key is still in progress. Try again later.',
    { retryAfterSeconds: 5 },
  );
}

async function storeResponse(keyed: KeyedRequest, response: unknown, transaction?: Transaction): Promise<void> {
  const updatedRows = await queryRequest(keyed, transaction)
    .whereNull('response')
    .patch({ response: encrypt(response, keyed) });
  // Another process has taken the request over and stored a response: roll this transaction back.
  if (transaction !== undefined && updatedRows === 0) throw takenOverError();
}

function takenOverError(): ServiceError {
  return new ServiceError(
    'internal_error',
    'This request took so long that its repetition was carried out instead. Send it again with the same Idempotency-Key to get the response.',
    { retryAfterSeconds: 1 },
  );
}

/**
 * Encrypts a response, which may contain an API key. The encryption key is derived from the Idempotency-Key, of which
 * only a hash is stored, and a secret of the service: an Idempotency-Key can be guessed, and a copy of the database
 * alone must not be enough to decrypt.
 */
function encrypt(response: unknown, keyed: KeyedRequest): Buffer {
  return encryptText(deriveEncryptionKey(keyed), JSON.stringify(response));
}

function decrypt(stored: Buffer, keyed: KeyedRequest): unknown {
  try {
    return JSON.parse(decryptText(deriveEncryptionKey(keyed), stored));
  } catch {
    throw new ServiceError(
      'validation_error',
      'Idempotency-Key was used for a request that succeeded, and its response can no longer be read. Check its result, and use a new key for further requests.',
    );
  }
}

/** Responses that were stored before the secret changes can no longer be read. */
function deriveEncryptionKey({ accountId, scope, key }: KeyedRequest): Buffer {
  return deriveKey(getServerSecret(), `response ${accountId} ${scope} ${key}`);
}

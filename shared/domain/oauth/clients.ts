import { v4 as uuidv4 } from 'uuid';
import {
  fetchClientMetadataDocument,
  isMetadataDocumentUrl,
  InvalidMetadataError,
} from '../../gateways/clientMetadataDocument.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import {
  CLIENT_ID_MAX_CHARACTERS,
  APPROVAL_REQUEST_GRACE_MS,
  INACTIVE_CLIENT_RETENTION_MS,
  NEW_CLIENT_GRACE_MS,
  UNAPPROVED_CLIENTS_MAX,
  UNAPPROVED_CLIENT_RETENTION_MS,
} from '../../spec/limits.ts';
import { OAuthError } from '../../spec/oauth.ts';
import { OAuthClient } from '../../tables/OAuthClient.ts';
import { type ClientMetadata, parseClientMetadata } from './clientMetadata.ts';

/** Registers a client under an id of our own (RFC 7591). */
export async function registerClient({ name, redirectUris }: ClientMetadata): Promise<OAuthClient> {
  return OAuthClient.query().insertAndFetch({
    client_id: uuidv4(),
    name,
    redirect_uris: redirectUris,
    created_at: now(),
  });
}

/** What an id may consist of; no other text is looked for. */
const CLIENT_ID_PATTERN = new RegExp(`^[\\x21-\\x7e]{1,${CLIENT_ID_MAX_CHARACTERS}}$`);

/** Whether a client has ever been heard of, and not been forgotten. */
export async function isKnownClient(clientId: string): Promise<boolean> {
  if (!CLIENT_ID_PATTERN.test(clientId)) return false;
  return (await OAuthClient.query().findById(clientId).select('client_id')) !== undefined;
}

/**
 * The client of an id, for somebody to approve: one that registered, or one whose metadata document is at the address
 * that is its id.
 * @param accountId of the person who is asked; bounds the documents that are fetched for one account at a time.
 * @throws OAuthRefusal invalid_client, where there is none
 */
export async function findClientForConsent(clientId: string, accountId: number | undefined): Promise<OAuthClient> {
  const stored = CLIENT_ID_PATTERN.test(clientId) ? await OAuthClient.query().findById(clientId) : undefined;
  const isDocument =
    stored === undefined
      ? CLIENT_ID_PATTERN.test(clientId) && isMetadataDocumentUrl(clientId)
      : stored.metadata_expires_at !== null;
  if (isDocument && config.OAUTH_CLIENT_METADATA_DOCUMENTS === 'off') {
    throw new OAuthError(
      'invalid_client',
      'This service reads no client metadata documents: register at /register.',
      {},
      DOCUMENT_ADVICE,
    );
  }
  if (stored !== undefined && (stored.metadata_expires_at === null || stored.metadata_expires_at > now()))
    return stored;
  if (!isDocument) {
    throw new OAuthError(
      'invalid_client',
      'The application is not registered here, or no longer: have it register again.',
    );
  }
  return fetchClientOnce(clientId, accountId);
}

/** Documents being fetched, so that simultaneous requests for one cause one fetch. */
const inFlightFetches = perService(
  () => new Map<string, { reading: Promise<OAuthClient>; accountId: number | undefined }>(),
);
/** Of the few fetches that a process has at a time, an account gets no more than this. */
const FETCHES_PER_ACCOUNT = 2;

function fetchClientOnce(clientId: string, accountId: number | undefined): Promise<OAuthClient> {
  const known = inFlightFetches().get(clientId);
  if (known !== undefined) return known.reading;
  if ([...inFlightFetches().values()].filter((other) => other.accountId === accountId).length >= FETCHES_PER_ACCOUNT) {
    return Promise.reject(
      invalidDocumentError(new InvalidMetadataError('cannot be fetched now: wait for the others to arrive')),
    );
  }
  const reading = fetchAndStoreClient(clientId).finally(() => {
    inFlightFetches().delete(clientId);
  });
  inFlightFetches().set(clientId, { reading, accountId });
  return reading;
}

async function fetchAndStoreClient(clientId: string): Promise<OAuthClient> {
  try {
    const { metadata, cacheLifetimeMs: freshMs } = await fetchClientMetadataDocument(clientId);
    if (metadata['client_id'] !== clientId) throw new InvalidMetadataError('says that it is of another client_id');
    const { name, redirectUris } = parseClientMetadata(metadata, new URL(clientId).host);
    const at = now();
    const row = { name, redirect_uris: redirectUris, metadata_expires_at: addMilliseconds(at, freshMs) };
    await OAuthClient.query()
      .insert({ client_id: clientId, created_at: at, ...row })
      .onConflict('client_id')
      .merge(['name', 'redirect_uris', 'metadata_expires_at']);
    return await OAuthClient.query().findById(clientId).throwIfNotFound();
  } catch (error) {
    throw error instanceof InvalidMetadataError || error instanceof OAuthError ? invalidDocumentError(error) : error;
  }
}

function invalidDocumentError(error: Error): OAuthError {
  const reason = error instanceof OAuthError ? `is not acceptable: ${error.message}` : `${error.message}.`;
  return new OAuthError(
    'invalid_client',
    `The document that the application is described by ${reason}`,
    {},
    DOCUMENT_ADVICE,
  );
}

const DOCUMENT_ADVICE =
  'Try again in a minute. If it does not help, connect with an API key instead: create one on your account page. Whoever runs this service can set OAUTH_CLIENT_METADATA_DOCUMENTS=off, and the application registers in another way.';

/**
 * Notes that a signed-in person is being asked to approve a client, so that a flood of registrations does not push it
 * out meanwhile. Written for clients that were never approved, at most once a minute.
 */
export async function recordApprovalRequest({ client_id, last_used_at }: OAuthClient): Promise<void> {
  if (last_used_at !== null) return;
  const at = now();
  await OAuthClient.query()
    .patch({ approval_requested_at: at })
    .where({ client_id, last_used_at: null })
    .whereRaw('(approval_requested_at IS NULL OR approval_requested_at <= ?)', [addMilliseconds(at, -60_000)]);
}

const PRUNE_UNUSED_CLIENTS = prepared(
  'prune_oauth_clients',
  `DELETE FROM oauth_clients c
    WHERE c.client_id IN (
      SELECT o.client_id FROM oauth_clients o
       WHERE coalesce(o.last_used_at, o.created_at) <= :unused
         AND (o.last_used_at IS NULL OR o.last_used_at <= :disused)
         AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = o.client_id)
       ORDER BY coalesce(o.last_used_at, o.created_at) LIMIT :atOnce FOR UPDATE SKIP LOCKED)
   RETURNING c.client_id`,
);

/** Looked at again when its turn comes: one that is approved in that moment stays. */
const PRUNE_EXCESS_UNAPPROVED_CLIENTS = prepared(
  'prune_unapproved_oauth_clients',
  `DELETE FROM oauth_clients c
    WHERE c.last_used_at IS NULL
      AND c.created_at <= :young
      AND (c.approval_requested_at IS NULL OR c.approval_requested_at <= :asked)
      AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.client_id)
      AND c.client_id IN (
        SELECT o.client_id FROM oauth_clients o
         WHERE o.last_used_at IS NULL AND o.created_at <= :young
           AND (o.approval_requested_at IS NULL OR o.approval_requested_at <= :asked)
         ORDER BY o.created_at DESC OFFSET :kept LIMIT :atOnce)
   RETURNING c.client_id`,
);

const PRUNE_CLIENTS_BATCH_SIZE = 1_000;

/**
 * Forgets clients that nobody approved in the first day, and those that nobody has used for long. Of those that nobody
 * has approved yet it keeps so many, the newest: a flood from many addresses fills no disk, and keeps nobody out who is
 * about to be
 * approved: those that registered just now, or that a person is being asked about, are not counted.
 */
export async function pruneUnusedClients(): Promise<void> {
  const at = now();
  const unused = addMilliseconds(at, -UNAPPROVED_CLIENT_RETENTION_MS);
  const disused = addMilliseconds(at, -INACTIVE_CLIENT_RETENTION_MS);
  const young = addMilliseconds(at, -NEW_CLIENT_GRACE_MS);
  const asked = addMilliseconds(at, -APPROVAL_REQUEST_GRACE_MS);
  for (let forgotten = PRUNE_CLIENTS_BATCH_SIZE; forgotten === PRUNE_CLIENTS_BATCH_SIZE; ) {
    forgotten = (await runStatement(PRUNE_UNUSED_CLIENTS, { unused, disused, atOnce: PRUNE_CLIENTS_BATCH_SIZE }))
      .length;
  }
  for (let forgotten = PRUNE_CLIENTS_BATCH_SIZE; forgotten === PRUNE_CLIENTS_BATCH_SIZE; ) {
    forgotten = (
      await runStatement(PRUNE_EXCESS_UNAPPROVED_CLIENTS, {
        kept: UNAPPROVED_CLIENTS_MAX,
        atOnce: PRUNE_CLIENTS_BATCH_SIZE,
        young,
        asked,
      })
    ).length;
  }
}

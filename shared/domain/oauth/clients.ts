import { randomUUID } from 'node:crypto';
import { isMetadataDocumentUrl } from '../../gateways/clientMetadataDocument.ts';
import { areClientDocumentsAvailable } from '../../gateways/clientDocumentConnections.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import {
  INACTIVE_CLIENT_RETENTION_MS,
  UNAPPROVED_CLIENTS_MAX,
  UNAPPROVED_CLIENT_RETENTION_MS,
} from '../../spec/limits.ts';
import { OAuthError } from '../../spec/oauth.ts';
import { OAuthClient } from '../../tables/OAuthClient.ts';
import { fetchDocumentClient } from './clientDocuments.ts';
import type { ClientMetadata } from './clientMetadata.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';

const CLIENT_ID_MAX_CHARACTERS = 1_000;
/** Grace periods during which unapproved clients are not deleted: after registration, and after a consent page. */
const NEW_CLIENT_GRACE_MS = 5 * MINUTE_MS;
const APPROVAL_REQUEST_GRACE_MS = HOUR_MS;

/** Registers a client under a new id (RFC 7591). */
export async function registerClient({ name, redirectUris }: ClientMetadata): Promise<OAuthClient> {
  return OAuthClient.query().insertAndFetch({
    client_id: randomUUID(),
    name,
    redirect_uris: redirectUris,
    created_at: now(),
  });
}

/** Returns whether clients should identify themselves by metadata documents rather than register. */
export async function areMetadataDocumentsAdvertised(): Promise<boolean> {
  const setting = config.OAUTH_CLIENT_METADATA_DOCUMENTS;
  return setting === 'auto' ? areClientDocumentsAvailable() : setting === 'on';
}

/** Characters and length of a client id. Other texts are not queried. */
const CLIENT_ID_PATTERN = new RegExp(`^[\\x21-\\x7e]{1,${CLIENT_ID_MAX_CHARACTERS}}$`);

/** Returns whether a client is stored. */
export async function isKnownClient(clientId: string): Promise<boolean> {
  if (!CLIENT_ID_PATTERN.test(clientId)) return false;
  return (await OAuthClient.query().findById(clientId).select('client_id')) !== undefined;
}

/**
 * Finds a client for the consent page: a registered one, or one whose id is the URL of its metadata document.
 * @param accountId account of the user, which limits the documents fetched for one account at a time.
 * @throws OAuthError invalid_client if there is none
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
      'This service does not accept client metadata documents. The application must register at /register.',
      {},
      'Start the connection in the application again. If it still fails, connect with an API key instead: create one on your account page.',
    );
  }
  if (stored !== undefined && (stored.metadata_expires_at === null || stored.metadata_expires_at > now()))
    return stored;
  if (!isDocument) {
    throw new OAuthError(
      'invalid_client',
      'The application is not registered here, or its registration has expired. It must register again.',
    );
  }
  return fetchDocumentClient(clientId, stored, accountId);
}

const APPROVAL_RECORD_INTERVAL_MS = MINUTE_MS;

/**
 * Records that a signed-in user is shown the consent page, so that a flood of registrations does not evict the client
 * meanwhile. Written for clients that were never approved, at most once a minute.
 */
export async function recordApprovalRequest({ client_id, last_used_at }: OAuthClient): Promise<void> {
  if (last_used_at !== null) return;
  const at = now();
  await OAuthClient.query()
    .patch({ approval_requested_at: at })
    .where({ client_id, last_used_at: null })
    .whereRaw('(approval_requested_at IS NULL OR approval_requested_at <= ?)', [
      addMilliseconds(at, -APPROVAL_RECORD_INTERVAL_MS),
    ]);
}

const PRUNE_UNUSED_CLIENTS = prepared(
  'prune_oauth_clients',
  `DELETE FROM oauth_clients c
    WHERE c.client_id IN (
      SELECT o.client_id FROM oauth_clients o
       WHERE coalesce(o.last_used_at, o.created_at) <= :unusedSince
         AND (o.last_used_at IS NULL OR o.last_used_at <= :inactiveSince)
         AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = o.client_id)
       ORDER BY coalesce(o.last_used_at, o.created_at) LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
   RETURNING c.client_id`,
);

/** Repeats its conditions in the outer query: a client that is approved in the meantime stays. */
const PRUNE_EXCESS_UNAPPROVED_CLIENTS = prepared(
  'prune_unapproved_oauth_clients',
  `DELETE FROM oauth_clients c
    WHERE c.last_used_at IS NULL
      AND c.created_at <= :registeredBefore
      AND (c.approval_requested_at IS NULL OR c.approval_requested_at <= :askedBefore)
      AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.client_id)
      AND c.client_id IN (
        SELECT o.client_id FROM oauth_clients o
         WHERE o.last_used_at IS NULL AND o.created_at <= :registeredBefore
           AND (o.approval_requested_at IS NULL OR o.approval_requested_at <= :askedBefore)
         ORDER BY o.created_at DESC OFFSET :kept LIMIT ${STATEMENT_BATCH_SIZE})
   RETURNING c.client_id`,
);

/**
 * Deletes clients that were not approved within a day, and clients that were not used for 90 days. Of the clients without
 * approval, only the newest are kept, so that a flood of registrations cannot fill the disk. Clients that registered just
 * now, or whose consent page is open, are not counted.
 */
export async function pruneUnusedClients(): Promise<void> {
  const at = now();
  await runInBatches(PRUNE_UNUSED_CLIENTS, {
    unusedSince: addMilliseconds(at, -UNAPPROVED_CLIENT_RETENTION_MS),
    inactiveSince: addMilliseconds(at, -INACTIVE_CLIENT_RETENTION_MS),
  });
  await runInBatches(PRUNE_EXCESS_UNAPPROVED_CLIENTS, {
    kept: UNAPPROVED_CLIENTS_MAX,
    registeredBefore: addMilliseconds(at, -NEW_CLIENT_GRACE_MS),
    askedBefore: addMilliseconds(at, -APPROVAL_REQUEST_GRACE_MS),
  });
}

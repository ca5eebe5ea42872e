import { randomUUID } from 'node:crypto';
import { areClientDocumentsAvailable } from '../../gateways/clientDocumentConnections.ts';
import {
  fetchClientMetadataDocument,
  InvalidMetadataError,
  isMetadataDocumentUrl,
} from '../../gateways/clientMetadataDocument.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { createLruCache } from '../../lib/lruCache.ts';
import { perService } from '../../lib/serviceScope.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { UNAVAILABLE_DOCUMENT_MAX_MS } from '../../spec/limits.ts';
import { CLI_CLIENT, OAuthError } from '../../spec/oauth.ts';
import { OAuthClient } from '../../tables/OAuthClient.ts';
import { type ClientMetadata, parseClientMetadata } from './clientMetadata.ts';

const CLIENT_ID_MAX_CHARACTERS = 1_000;

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

/** Returns whether a client is stored, or is the command line, whose row is deleted while it is not used. */
export async function isKnownClient(clientId: string): Promise<boolean> {
  if (clientId === CLI_CLIENT.client_id) return true;
  if (!CLIENT_ID_PATTERN.test(clientId)) return false;
  return (await OAuthClient.query().findById(clientId).select('client_id')) !== undefined;
}

/**
 * Finds a client for the consent page: a registered one, one whose id is the URL of its metadata document, or the
 * command line.
 * @param accountId account of the user, which limits the documents fetched for one account at a time.
 * @throws OAuthError invalid_client if there is none
 */
export async function findClientForConsent(clientId: string, accountId: number | undefined): Promise<OAuthClient> {
  if (clientId === CLI_CLIENT.client_id) return storeCliClient();
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

/** Stores the command line as a client, which its grants refer to. No other client can have its id. */
async function storeCliClient(): Promise<OAuthClient> {
  await OAuthClient.query()
    .insert({ ...CLI_CLIENT, created_at: now() })
    .onConflict('client_id')
    .merge(['name', 'redirect_uris']);
  return OAuthClient.query().findById(CLI_CLIENT.client_id).throwIfNotFound();
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

/**
 * Fetches the metadata document of a client and stores it. While its host does not serve it, returns the stored
 * version, for a limited time.
 * @param stored version whose document has expired.
 * @param accountId account of the user, which limits the documents fetched for one account at a time.
 * @throws OAuthError invalid_client
 */
async function fetchDocumentClient(
  clientId: string,
  stored: OAuthClient | undefined,
  accountId: number | undefined,
): Promise<OAuthClient> {
  const lastVersion = stored !== undefined && isUsableLastVersion(stored) ? stored : undefined;
  const nextFetchAt = nextFetches().get(clientId);
  if (lastVersion !== undefined && nextFetchAt !== undefined && nextFetchAt > now()) return lastVersion;
  return fetchClientOnce(clientId, accountId).catch((error: unknown) => {
    if (lastVersion === undefined || !(error instanceof DocumentUnavailableError)) throw error;
    logger.warn({ client: clientId, problem: error.message }, 'client document not fetched; using the last version');
    nextFetches().set(clientId, addMilliseconds(now(), FETCH_RETRY_MS));
    return lastVersion;
  });
}

/** A document that cannot be fetched now. */
class DocumentUnavailableError extends OAuthError {}

/** Returns whether an expired document may be used while its host does not serve it. */
function isUsableLastVersion({ metadata_expires_at: expiredAt }: OAuthClient): boolean {
  return expiredAt !== null && addMilliseconds(expiredAt, UNAVAILABLE_DOCUMENT_MAX_MS) > now();
}

/** Time for which a document that cannot be fetched is used before another attempt. */
const FETCH_RETRY_MS = 5 * MINUTE_MS;
/** Maximum number of clients whose next attempt is kept. An evicted one is fetched again sooner. */
const NEXT_FETCHES_MAX = 1_000;
/**
 * Times of the next attempts to fetch documents that could not be fetched. Kept by each process for itself, since the
 * stored expiry must stay what the last successful fetch has set.
 */
const nextFetches = perService(() => createLruCache<string, Date>(NEXT_FETCHES_MAX));

/** Fetches in progress, so that simultaneous requests for a document share one. */
const inFlightFetches = perService(
  () => new Map<string, { fetching: Promise<OAuthClient>; accountId: number | undefined }>(),
);
/** Maximum number of simultaneous fetches for one account. */
const FETCHES_PER_ACCOUNT = 2;

function fetchClientOnce(clientId: string, accountId: number | undefined): Promise<OAuthClient> {
  const inFlight = inFlightFetches().get(clientId);
  if (inFlight !== undefined) return inFlight.fetching;
  if ([...inFlightFetches().values()].filter((other) => other.accountId === accountId).length >= FETCHES_PER_ACCOUNT) {
    return Promise.reject(
      invalidDocumentError(
        new InvalidMetadataError('cannot be fetched now: other documents are still being fetched', {
          isTemporary: true,
        }),
      ),
    );
  }
  const fetching = fetchAndStoreClient(clientId).finally(() => {
    inFlightFetches().delete(clientId);
  });
  inFlightFetches().set(clientId, { fetching, accountId });
  return fetching;
}

async function fetchAndStoreClient(clientId: string): Promise<OAuthClient> {
  try {
    const { metadata, cacheLifetimeMs } = await fetchClientMetadataDocument(clientId);
    if (metadata['client_id'] !== clientId) throw new InvalidMetadataError('contains another client_id');
    const { name, redirectUris } = parseClientMetadata(metadata, new URL(clientId).host);
    const at = now();
    const row = { name, redirect_uris: redirectUris, metadata_expires_at: addMilliseconds(at, cacheLifetimeMs) };
    await OAuthClient.query()
      .insert({ client_id: clientId, created_at: at, ...row })
      .onConflict('client_id')
      .merge(['name', 'redirect_uris', 'metadata_expires_at']);
    return await OAuthClient.query().findById(clientId).throwIfNotFound();
  } catch (error) {
    throw error instanceof InvalidMetadataError || error instanceof OAuthError ? invalidDocumentError(error) : error;
  }
}

function invalidDocumentError(error: InvalidMetadataError | OAuthError): OAuthError {
  const reason = error instanceof OAuthError ? `is not acceptable: ${error.message}` : `${error.message}.`;
  const forOperator = error instanceof InvalidMetadataError && error.isUnreachable ? ` ${OPERATOR_ADVICE}` : '';
  const description = `The metadata document of the application ${reason}${forOperator}`;
  const isTemporary = error instanceof InvalidMetadataError && error.isTemporary;
  return new (isTemporary ? DocumentUnavailableError : OAuthError)('invalid_client', description, {}, DOCUMENT_ADVICE);
}

const DOCUMENT_ADVICE =
  'Try again in a minute. If it still fails, connect with an API key instead: create one on your account page.';
const OPERATOR_ADVICE =
  'If this service cannot reach the internet, its operator can set HTTPS_PROXY, or OAUTH_CLIENT_METADATA_DOCUMENTS=off, so that applications register instead.';

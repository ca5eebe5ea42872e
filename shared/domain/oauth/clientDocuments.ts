import { fetchClientMetadataDocument, InvalidMetadataError } from '../../gateways/clientMetadataDocument.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { createLruCache } from '../../lib/lruCache.ts';
import { perService } from '../../lib/serviceScope.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { UNAVAILABLE_DOCUMENT_MAX_MS } from '../../spec/limits.ts';
import { OAuthError } from '../../spec/oauth.ts';
import { OAuthClient } from '../../tables/OAuthClient.ts';
import { parseClientMetadata } from './clientMetadata.ts';

/**
 * Fetches the metadata document of a client and stores it. While its host does not serve it, returns the stored
 * version, for a limited time.
 * @param stored version whose document has expired.
 * @param accountId account of the user, which limits the documents fetched for one account at a time.
 * @throws OAuthError invalid_client
 */
export async function fetchDocumentClient(
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

import { v4 as uuidv4 } from 'uuid';
import { fetchClientDocument, isDocumentAddress, UnusableDocument } from '../../gateways/clientDocuments.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { prepared, run } from '../../lib/db.ts';
import {
  CLIENT_ID_MAX_CHARACTERS,
  APPROVAL_REQUEST_MS,
  DISUSED_CLIENT_MS,
  NEW_CLIENT_MS,
  UNAPPROVED_CLIENTS_MAX,
  UNUSED_CLIENT_MS,
} from '../../spec/limits.ts';
import { OAuthRefusal } from '../../spec/oauth.ts';
import { OAuthClient } from '../../tables/OAuthClient.ts';
import { type ClientMetadata, readClientMetadata } from './clientMetadata.ts';

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
const CLIENT_ID = new RegExp(`^[\\x21-\\x7e]{1,${CLIENT_ID_MAX_CHARACTERS}}$`);

/** Whether a client has ever been heard of, and not been forgotten. */
export async function isKnownClient(clientId: string): Promise<boolean> {
  if (!CLIENT_ID.test(clientId)) return false;
  return (await OAuthClient.query().findById(clientId).select('client_id')) !== undefined;
}

/**
 * The client of an id, for somebody to approve: one that registered, or one whose metadata document is at the address
 * that is its id.
 * @param accountId of the person who is asked; bounds the documents that are fetched for one account at a time.
 * @throws OAuthRefusal invalid_client, where there is none
 */
export async function clientForApproval(clientId: string, accountId: number | undefined): Promise<OAuthClient> {
  const stored = CLIENT_ID.test(clientId) ? await OAuthClient.query().findById(clientId) : undefined;
  const isDocument =
    stored === undefined ? CLIENT_ID.test(clientId) && isDocumentAddress(clientId) : stored.fresh_until !== null;
  if (isDocument && config.OAUTH_CLIENT_METADATA_DOCUMENTS === 'off') {
    throw new OAuthRefusal(
      'invalid_client',
      'This service reads no client metadata documents: register at /register.',
      {},
      ADVICE,
    );
  }
  if (stored !== undefined && (stored.fresh_until === null || stored.fresh_until > now())) return stored;
  if (!isDocument) {
    throw new OAuthRefusal(
      'invalid_client',
      'The application is not registered here, or no longer: have it register again.',
    );
  }
  return readDocument(clientId, accountId);
}

/** Documents being fetched, so that simultaneous requests for one cause one fetch. */
const underWay = perService(() => new Map<string, { reading: Promise<OAuthClient>; accountId: number | undefined }>());
/** Of the few fetches that a process has at a time, an account gets no more than this. */
const FETCHES_PER_ACCOUNT = 2;

function readDocument(clientId: string, accountId: number | undefined): Promise<OAuthClient> {
  const known = underWay().get(clientId);
  if (known !== undefined) return known.reading;
  if ([...underWay().values()].filter((other) => other.accountId === accountId).length >= FETCHES_PER_ACCOUNT) {
    return Promise.reject(unusable(new UnusableDocument('cannot be fetched now: wait for the others to arrive')));
  }
  const reading = fetchAndKeep(clientId).finally(() => {
    underWay().delete(clientId);
  });
  underWay().set(clientId, { reading, accountId });
  return reading;
}

async function fetchAndKeep(clientId: string): Promise<OAuthClient> {
  try {
    const { metadata, freshMs } = await fetchClientDocument(clientId);
    if (metadata['client_id'] !== clientId) throw new UnusableDocument('says that it is of another client_id');
    const { name, redirectUris } = readClientMetadata(metadata, new URL(clientId).host);
    const at = now();
    const row = { name, redirect_uris: redirectUris, fresh_until: addMilliseconds(at, freshMs) };
    await OAuthClient.query()
      .insert({ client_id: clientId, created_at: at, ...row })
      .onConflict('client_id')
      .merge(['name', 'redirect_uris', 'fresh_until']);
    return await OAuthClient.query().findById(clientId).throwIfNotFound();
  } catch (error) {
    throw error instanceof UnusableDocument || error instanceof OAuthRefusal ? unusable(error) : error;
  }
}

function unusable(error: Error): OAuthRefusal {
  const reason = error instanceof OAuthRefusal ? `is not acceptable: ${error.message}` : `${error.message}.`;
  return new OAuthRefusal('invalid_client', `The document that the application is described by ${reason}`, {}, ADVICE);
}

const ADVICE =
  'Try again in a minute. If it does not help, connect with an API key instead: create one on your account page. Whoever runs this service can set OAUTH_CLIENT_METADATA_DOCUMENTS=off, and the application registers in another way.';

/**
 * Notes that a signed-in person is being asked to approve a client, so that a flood of registrations does not push it
 * out meanwhile. Written for clients that were never approved, at most once a minute.
 */
export async function noteApprovalRequest({ client_id, last_used_at }: OAuthClient): Promise<void> {
  if (last_used_at !== null) return;
  const at = now();
  await OAuthClient.query()
    .patch({ approval_requested_at: at })
    .where({ client_id, last_used_at: null })
    .whereRaw('(approval_requested_at IS NULL OR approval_requested_at <= ?)', [addMilliseconds(at, -60_000)]);
}

const FORGET = prepared(
  'forget_oauth_clients',
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
const FORGET_CROWD = prepared(
  'forget_crowd_of_oauth_clients',
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

const AT_ONCE = 1_000;

/**
 * Forgets clients that nobody approved in the first day, and those that nobody has used for long. Of those that nobody
 * has approved yet it keeps so many, the newest: a flood from many addresses fills no disk, and keeps nobody out who is
 * about to be
 * approved: those that registered just now, or that a person is being asked about, are not counted.
 */
export async function forgetUnusedClients(): Promise<void> {
  const at = now();
  const unused = addMilliseconds(at, -UNUSED_CLIENT_MS);
  const disused = addMilliseconds(at, -DISUSED_CLIENT_MS);
  const young = addMilliseconds(at, -NEW_CLIENT_MS);
  const asked = addMilliseconds(at, -APPROVAL_REQUEST_MS);
  for (let forgotten = AT_ONCE; forgotten === AT_ONCE; ) {
    forgotten = (await run(FORGET, { unused, disused, atOnce: AT_ONCE })).length;
  }
  for (let forgotten = AT_ONCE; forgotten === AT_ONCE; ) {
    forgotten = (await run(FORGET_CROWD, { kept: UNAPPROVED_CLIENTS_MAX, atOnce: AT_ONCE, young, asked })).length;
  }
}

import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import type { Member } from '../../tables/Member.ts';
import { SecurityEvent } from '../../tables/SecurityEvent.ts';

/** Origin of a request, for the security log. */
export interface RequestOrigin {
  /** Network prefix of the client's address. */
  network: string;
  /** `User-Agent` header. */
  userAgent: string;
  /** Member of the account who makes the request; null for none. */
  memberNumber: number | null;
  /** Id of the request in the logs. */
  requestId?: string;
}

/** Origin of events that the service or its staff cause. */
export const SERVICE_ORIGIN: RequestOrigin = { network: '', userAgent: '', memberNumber: null };

/** Stored `User-Agent` values are truncated to this length. */
const USER_AGENT_MAX_CHARACTERS = 300;

/** Builds the origin of a request from its headers, in a form that can be stored. */
export function buildRequestOrigin(
  network: string,
  userAgent: string,
  requestId: string,
  memberNumber: number | null,
): RequestOrigin {
  const stored = userAgent.toWellFormed().replaceAll('\u0000', '').slice(0, USER_AGENT_MAX_CHARACTERS).toWellFormed();
  return { network, userAgent: stored, requestId, memberNumber };
}

/** Describes an origin in the details of a recorded event. */
export function describeOrigin({ network, userAgent }: RequestOrigin): { network: string; user_agent: string } {
  return { network, user_agent: userAgent };
}

/** Events of the security log. Failed sign-ins are recorded only where the account is known. */
export type SecurityEventName =
  | 'signed_in'
  | 'sign_in_failed'
  | 'signed_out'
  | 'session_ended'
  | 'identity_linked'
  | 'identity_removed'
  | 'identity_restored'
  | 'key_created'
  | 'key_changed'
  | 'key_revoked'
  | 'member_invited'
  | 'invitation_revoked'
  | 'member_joined'
  | 'member_changed'
  | 'member_removed'
  | 'member_left'
  | 'account_handed_over'
  | 'account_entered'
  | 'application_connected'
  | 'application_disconnected'
  | 'application_limit_changed'
  | 'access_revoked'
  | 'webhook_created'
  | 'webhook_url_changed'
  | 'webhook_deleted'
  | 'webhook_secret_rotated'
  | 'plan_checkout_opened'
  | 'billing_portal_opened'
  | 'auto_topup_changed'
  | 'data_exported'
  | 'deletion_requested'
  | 'deletion_undone';

export interface SecurityEventInput {
  accountId: number;
  event: SecurityEventName;
  origin: RequestOrigin;
  /** Names and numbers that the owner recognizes. Never a secret. */
  details?: Record<string, string | number>;
  /** Identifies what was changed, for the log line: uuids, no names and no secrets. */
  subject?: Record<string, string | number | readonly string[]>;
}

/**
 * Records a change of credentials or access in the security log of its account, in the transaction of the change, and
 * logs it once that is committed.
 */
export async function recordSecurityEvent(transaction: Transaction, input: SecurityEventInput): Promise<void> {
  const { accountId, event, origin, details = {} } = input;
  await SecurityEvent.query(transaction).insert({
    account_id: accountId,
    member_number: origin.memberNumber,
    event,
    network: origin.network,
    user_agent: origin.userAgent,
    details,
    created_at: now(),
  });
  // Read here: once the transaction has committed, a command line closes its connections.
  const account = await Account.query(transaction).findById(accountId).select('uuid').throwIfNotFound();
  transaction.executionPromise.then(
    () => writeAuditLine(input, account.uuid),
    () => {},
  );
}

type LoggedEvent = Omit<SecurityEventInput, 'accountId' | 'details'> & { accountId: number | null };

/** Logs a security event that a statement has recorded, or one of an unknown account. */
export async function logSecurityEvent(input: LoggedEvent): Promise<void> {
  // The change is already committed: a line without the uuid of the account is better than an error.
  const account =
    input.accountId === null
      ? undefined
      : await Account.query()
          .findById(input.accountId)
          .select('uuid')
          .catch(() => undefined);
  writeAuditLine(input, account?.uuid);
}

function writeAuditLine(
  { accountId, event, origin: { network, requestId }, subject }: LoggedEvent,
  accountUuid: string | undefined,
): void {
  logger.info({ requestId, event, account: accountId, accountUuid, network, ...subject }, 'audit');
}

/**
 * Returns whether the security log of an account has no sign-in of a member with this browser. Its version does not
 * matter. At the first sign-in of a member, no browser is unknown.
 */
export async function isUnknownBrowser(
  transaction: Transaction,
  { account_id: accountId, number, created_at: createdAt }: Member,
  { userAgent }: RequestOrigin,
): Promise<boolean> {
  const seen = await SecurityEvent.query(transaction)
    .where({ account_id: accountId, member_number: number, event: 'signed_in' })
    .distinct('user_agent');
  // The sign-ins of an old member may have been pruned.
  if (seen.length === 0) return createdAt <= addMilliseconds(now(), -SECURITY_EVENT_RETENTION_DAYS * DAY_MS);
  const browser = removeVersions(userAgent);
  return !seen.some(({ user_agent: known }) => removeVersions(known) === browser);
}

function removeVersions(userAgent: string): string {
  return userAgent.replaceAll(/[\d._]+/g, '');
}

/** Beginning of a statement that inserts events, for changes that are one statement. */
export const INSERT_SECURITY_EVENTS =
  'INSERT INTO security_events (account_id, member_number, event, network, user_agent, details, created_at)';

/** An event with the address of its member; null for the service, and of a person who was erased. */
export type ListedSecurityEvent = SecurityEvent & { member_email: string | null };

/** One page of a security log, newest first. */
export interface SecurityEventPage {
  items: ListedSecurityEvent[];
  /** Cursor of the next page; null on the last one. */
  next: number | null;
}

/**
 * Lists the security events of an account, newest first. Pages are found by a cursor, so that no rows are counted.
 * @param before cursor of the page; undefined for the first.
 */
export async function listSecurityEvents(accountId: number, before: number | undefined): Promise<SecurityEventPage> {
  const rows = (await SecurityEvent.query()
    .joinRaw(
      `LEFT JOIN members m ON m.account_id = security_events.account_id AND m.number = security_events.member_number
       LEFT JOIN people p ON p.id = m.person_id AND p.erased_at IS NULL`,
    )
    .select('security_events.*', 'p.email AS member_email')
    .where('security_events.account_id', accountId)
    .modify((older) => void (before !== undefined && older.where('security_events.id', '<', before)))
    .orderBy('security_events.id', 'desc')
    .limit(PAGE_SIZE + 1)) as ListedSecurityEvent[];
  const items = rows.slice(0, PAGE_SIZE);
  return { items, next: rows.length > PAGE_SIZE ? (items.at(-1)?.id ?? null) : null };
}

/** Days for which security events are kept: more than a year. */
export const SECURITY_EVENT_RETENTION_DAYS = 400;

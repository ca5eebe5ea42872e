import { PAGE_SIZE } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';

/** Filters and the cursor of a page of the audit log. */
export interface AuditLogQuery {
  /** Affected account. */
  accountId?: number | undefined;
  /** Account of the staff member. */
  actorId?: number | undefined;
  /** Number of the last entry of the previous page. */
  before?: number | undefined;
  limit?: number;
}

/** An audit entry, with the accounts that it names. */
export interface AuditLogItem {
  entry: AuditEntry;
  /** Address of the staff member, or the system user. */
  actor: string;
  /** The affected account; undefined if there is none. */
  account: Pick<Account, 'uuid' | 'email'> | undefined;
}

/** A page of the audit log, newest first. */
export interface AuditLogPage {
  items: AuditLogItem[];
  /** Cursor of the next page; null on the last page. */
  next: number | null;
}

/** Lists entries of the audit log, newest first: their numbers ascend in the order of the database. */
export async function listAuditEntries({
  accountId,
  actorId,
  before,
  limit = PAGE_SIZE,
}: AuditLogQuery): Promise<AuditLogPage> {
  const query = AuditEntry.query()
    .orderBy('number', 'desc')
    .limit(limit + 1);
  if (accountId !== undefined) void query.where({ account_id: accountId });
  if (actorId !== undefined) void query.where({ actor_account_id: actorId });
  if (before !== undefined) void query.where('number', '<', before);
  const rows = await query;
  const entries = rows.slice(0, limit);
  const ids = entries.flatMap(({ account_id: account, actor_account_id: actor }) => [account, actor]);
  const accounts = await Account.query()
    .findByIds([...new Set(ids.filter((id) => id !== null))])
    .select('id', 'uuid', 'email');
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const items = entries.map((entry) => ({
    entry,
    actor: getActorName(entry, byId),
    account: entry.account_id === null ? undefined : byId.get(entry.account_id),
  }));
  return { items, next: rows.length > limit ? (entries.at(-1) as AuditEntry).number : null };
}

function getActorName({ actor_account_id: actorId, command_user: user }: AuditEntry, accounts: Map<number, Account>) {
  if (actorId === null) return user ?? '';
  return accounts.get(actorId)?.email ?? `account ${actorId}`;
}

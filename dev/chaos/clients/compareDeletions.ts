import type { Queryable, Violation } from '../../../shared/domain/invariant.ts';
import { getId, type StripeStore } from '../../../test/fakes/stripe/store.ts';
import type { AccountDeletion, ClientStore } from './clientStore.ts';
import { STATEMENTS, type ReportFunction } from './violations.ts';

interface DeletionRow {
  uuid: string;
  email: string;
  is_requested: boolean;
  is_erased: boolean;
  sessions: number;
  prompts: number;
  /** False while the erasure continues. */
  is_completed: boolean;
}

/** Checks that deletions were not lost, that undone ones are over, and that an erasure left no personal data. */
export async function compareDeletions(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    `SELECT a.uuid, a.email, a.deletion_requested_at IS NOT NULL AS is_requested, a.erased_at IS NOT NULL AS is_erased,
            (SELECT count(*)::int FROM sessions s WHERE s.account_id = a.id) AS sessions,
            (SELECT count(*)::int FROM generations g WHERE g.account_id = a.id AND g.prompt <> '') AS prompts,
            NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id) AS is_completed
       FROM accounts a WHERE a.uuid = ANY ($1::uuid[])`,
    [store.deletions.map(({ accountUuid }) => accountUuid)],
  );
  const kept = new Map((rows as DeletionRow[]).map((row) => [row.uuid, row]));
  for (const { accountUuid, email, isUndone } of store.deletions) {
    const row = kept.get(accountUuid);
    if (row !== undefined && isConsistent(row, email, isUndone)) continue;
    report(
      'deletion-is-carried-out',
      accountUuid,
      email,
      `undone: ${isUndone}; in the database ${JSON.stringify(row)}`,
    );
  }
}

function isConsistent(row: DeletionRow, email: string, isUndone: boolean): boolean {
  if (isUndone) return !row.is_requested && !row.is_erased && row.email === email;
  if (!row.is_requested) return false;
  return row.is_erased
    ? row.email !== email && row.sessions === 0 && (!row.is_completed || row.prompts === 0)
    : row.email === email;
}

/**
 * Compares the charges of the payment processor with deletions: once renewals were seen to be stopped, nothing is charged,
 * and what is paid after the request is returned once the account is erased.
 */
export async function compareChargesAfterDeletions(
  { deletions }: Pick<ClientStore, 'deletions'>,
  stripe: StripeStore,
  client: Queryable,
): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT a.id::text AS id, a.uuid,
            a.erased_at IS NOT NULL AND NOT EXISTS (SELECT FROM account_deletions d WHERE d.account_id = a.id) AS is_erased
       FROM accounts a WHERE a.uuid = ANY ($1::uuid[])`,
    [deletions.map(({ accountUuid }) => accountUuid)],
  );
  const accounts = new Map(
    (rows as { id: string; uuid: string; is_erased: boolean }[]).map(({ uuid, ...row }) => [uuid, row]),
  );
  return deletions
    .filter(({ isUndone }) => !isUndone)
    .flatMap((deletion) => {
      const account = accounts.get(deletion.accountUuid);
      return listWrongCharges(deletion, stripe, account?.is_erased === true).map(
        (detail): Violation => ({
          invariant: 'payments-end-with-a-deletion',
          statement: STATEMENTS['payments-end-with-a-deletion'],
          accountId: account?.id ?? null,
          subject: deletion.accountUuid,
          detail,
        }),
      );
    });
}

function listWrongCharges(
  { customerId, acknowledgedAt, stoppedAt }: AccountDeletion,
  stripe: StripeStore,
  isErased: boolean,
): string[] {
  return stripe
    .list('charge')
    .filter(({ customer, status }) => customerId !== null && getId(customer) === customerId && status === 'succeeded')
    .flatMap(({ id, created, amount, amount_refunded: refundedCents }): string[] => {
      const isAfter = (time: Date | null) => time !== null && 1_000 * created > time.getTime();
      const isKept = isErased && isAfter(acknowledgedAt) && refundedCents < amount;
      if (!isAfter(stoppedAt) && !isKept) return [];
      const times = `requested ${acknowledgedAt.toISOString()}, stopped ${stoppedAt?.toISOString() ?? 'never'}`;
      return [
        `${id} of ${amount} cents, ${refundedCents} refunded, at ${new Date(1_000 * created).toISOString()}; ${times}`,
      ];
    });
}

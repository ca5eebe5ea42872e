import { createHash } from 'node:crypto';
import type { Queryable } from '../../../shared/domain/invariant.ts';
import type { ClientStore } from './clientStore.ts';
import type { ReportFunction } from './violations.ts';

/** Checks that every announced key is stored, and is revoked exactly if a client revoked it. */
export async function compareKeys(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    `SELECT k.uuid, encode(k.key_hash, 'hex') AS hash, k.revoked_at, a.uuid AS account_uuid
       FROM api_keys k JOIN accounts a ON a.id = k.account_id`,
  );
  type Row = { uuid: string; hash: string; revoked_at: Date | null; account_uuid: string };
  const kept = new Map((rows as Row[]).map((row) => [row.uuid, row]));
  for (const { uuid, key, accountUuid, revokeRequestedAt: revokeAskedAt, revokedAt } of store.keys.values()) {
    const row = kept.get(uuid);
    const hash = createHash('sha256').update(key).digest('hex');
    if (row === undefined || row.hash !== hash || row.account_uuid !== accountUuid) {
      report('created-exists', accountUuid, uuid, 'is a key from a 201, and is missing or different in the database');
    } else if (revokedAt !== null && row.revoked_at === null) {
      report('revoked-key-is-rejected', accountUuid, uuid, 'its revocation was acknowledged, and it is not revoked');
    } else if (revokeAskedAt === null && row.revoked_at !== null) {
      report('valid-key-is-accepted', accountUuid, uuid, 'is revoked without a request');
    }
  }
}

/** Checks that every paid page led to exactly one ledger entry. */
export async function compareTopups(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    `SELECT t.stripe_session_id AS session, t.status, t.credits, t.amount_cents, a.uuid AS account_uuid,
            count(l.uuid)::int AS entries, coalesce(sum(l.amount), 0)::int AS credited
       FROM topups t
       JOIN accounts a ON a.id = t.account_id
       LEFT JOIN ledger_entries l ON l.effect_key = 'topup:' || t.uuid AND l.account_id = t.account_id
      WHERE t.stripe_session_id IS NOT NULL
      GROUP BY t.uuid, a.uuid`,
  );
  interface Row {
    session: string;
    status: string;
    credits: number;
    amount_cents: number;
    account_uuid: string;
    entries: number;
    credited: number;
  }
  const kept = new Map((rows as Row[]).map((row) => [row.session, row]));
  for (const { accountUuid, sessionId, amountCents } of store.topups) {
    const row = kept.get(sessionId);
    if (row === undefined) {
      report('paid-topup-is-credited', accountUuid, sessionId, 'was paid, but there is no such top-up');
    } else if (row.account_uuid !== accountUuid || row.amount_cents !== amountCents) {
      report('paid-topup-is-credited', accountUuid, sessionId, `is ${row.amount_cents} cents of ${row.account_uuid}`);
    } else if (row.status !== 'succeeded' || row.entries !== 1 || row.credited !== row.credits) {
      const detail = `was paid, is ${row.status}, and has ${row.entries} entries of ${row.credited} credits for ${row.credits}`;
      report('paid-topup-is-credited', accountUuid, sessionId, detail);
    }
  }
}

/** Checks that every paid plan is a subscription of its account, whatever its present status. */
export async function comparePlans(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    `SELECT s.stripe_subscription_id AS id, a.uuid AS account_uuid
       FROM subscriptions s JOIN accounts a ON a.id = s.account_id`,
  );
  const kept = new Map(
    (rows as { id: string | null; account_uuid: string }[]).map((row) => [row.id, row.account_uuid]),
  );
  for (const { accountUuid, plan, subscriptionId } of store.plans) {
    if (kept.get(subscriptionId) === accountUuid) continue;
    report(
      'paid-plan-is-known',
      accountUuid,
      subscriptionId,
      `the plan ${plan} was paid, but there is no such subscription`,
    );
  }
}

/** Checks that every credit adjustment has at most one ledger entry, of its account, and exactly one if it succeeded. */
export async function compareAdjustments(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    `SELECT substr(l.effect_key, length('adjustment:') + 1) AS request, a.uuid AS account_uuid, l.amount
       FROM ledger_entries l JOIN accounts a ON a.id = l.account_id WHERE l.effect_key LIKE 'adjustment:%'`,
  );
  const posted = rows as { request: string; account_uuid: string; amount: number }[];
  for (const { accountUuid, request, credits, isConfirmed } of store.adjustments) {
    const entries = posted.filter((entry) => entry.request === request);
    const isGood = entries.every((entry) => entry.account_uuid === accountUuid && entry.amount === credits);
    if (isGood && entries.length <= 1 && (entries.length === 1 || !isConfirmed)) continue;
    report(
      'adjustment-is-posted-once',
      accountUuid,
      request,
      `${credits} credits, ${isConfirmed ? 'confirmed' : 'unknown'}: ${JSON.stringify(entries)}`,
    );
  }
}

/** Checks that each generation that staff refunded has its refund in the ledger exactly once. */
export async function compareStaffRefunds(
  store: ClientStore,
  client: Queryable,
  report: ReportFunction,
): Promise<void> {
  const { rows } = await client.query(
    `SELECT generation_uuid AS uuid, sum(amount)::int AS credits, count(*)::int AS entries
       FROM ledger_entries WHERE entry_type = 'refund' AND generation_uuid = ANY ($1::uuid[]) GROUP BY 1`,
    [[...store.staffRefunds.keys()]],
  );
  const posted = new Map((rows as { uuid: string; credits: number; entries: number }[]).map((row) => [row.uuid, row]));
  for (const [uuid, { accountUuid, credits }] of store.staffRefunds) {
    const row = posted.get(uuid);
    if (row?.entries === 1 && row.credits === credits) continue;
    report(
      'staff-refund-is-posted-once',
      accountUuid,
      uuid,
      `${credits} credits were refunded: ${JSON.stringify(row)}`,
    );
  }
}

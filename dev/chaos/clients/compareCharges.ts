import { CLOCKS_DIFFER, type Queryable, type Violation } from '../../../shared/domain/invariants/invariant.ts';
import type { ClientBooks } from './books.ts';
import { type Rule, SAYS } from './violations.ts';

/** How long after it was sent a create may still be carried out: its client has given up, and the service has not. */
const CREATE_MS = 60_000;

/** An automatic top-up. Moments are by the clock of Postgres, in milliseconds, as of `Date.now`. */
interface Row {
  account_id: string;
  account_uuid: string;
  topup: string;
  claimed_at: number;
  /** Null while it has not succeeded. */
  credited_at: number | null;
  /** Whether a burn has left the balance below the threshold since the automatic top-up before it. */
  has_burn: boolean;
}

const TOPUPS = `
  SELECT t.account_id::text AS account_id, a.uuid AS account_uuid, t.uuid AS topup,
         extract(epoch FROM claimed.at)::float8 * 1000 AS claimed_at,
         extract(epoch FROM credited.at)::float8 * 1000 AS credited_at,
         EXISTS (SELECT FROM ledger_entries l
                  WHERE l.account_id = t.account_id AND l.entry_type = 'burn'
                    AND l.balance_after < a.auto_topup_threshold_credits
                    AND l.created_at <= t.created_at + ${CLOCKS_DIFFER}
                    AND l.created_at > coalesce((SELECT max(b.created_at) FROM topups b
                                                  WHERE b.account_id = t.account_id AND b.kind = 'automatic'
                                                    AND b.created_at < t.created_at), '-infinity') - ${CLOCKS_DIFFER}
                ) AS has_burn
    FROM topups t
    JOIN accounts a ON a.id = t.account_id
    JOIN (SELECT topup, min(at) AS at FROM chaos.topups GROUP BY topup) claimed ON claimed.topup = t.uuid
    LEFT JOIN (SELECT topup, min(at) AS at FROM chaos.topups WHERE status = 'succeeded' GROUP BY topup) credited
           ON credited.topup = t.uuid
   WHERE t.kind = 'automatic'`;

/** Holds automatic charges against what clients asked for and were told. Holds at every moment. */
export async function compareCharges(
  { creates, refusals }: Pick<ClientBooks, 'creates' | 'refusals'>,
  client: Queryable,
): Promise<Violation[]> {
  // In this order: a create that causes a top-up was sent before the top-up was claimed.
  const { rows } = await client.query(TOPUPS);
  const found: Violation[] = [];
  const accuse = (invariant: Rule, { account_id: accountId, topup }: Row, detail: string) =>
    found.push({ invariant, says: SAYS[invariant], accountId, subject: `top-up ${topup}`, detail });
  for (const row of rows as Row[]) {
    const { account_uuid: account, claimed_at: claimedAt, credited_at: creditedAt } = row;
    const isAsked = creates.some(
      ({ accountUuid, at }) => accountUuid === account && at <= claimedAt && claimedAt <= at + CREATE_MS,
    );
    if (!row.has_burn && !isAsked) accuse('automatic-charges-have-a-cause', row, 'neither a burn nor a create');
    if (creditedAt === null) continue;
    // In progress when the refusal was sent: the card was charged for what had been refused.
    const refused = refusals.find(
      ({ accountUuid, answeredAt }) => accountUuid === account && claimedAt < answeredAt && answeredAt < creditedAt,
    );
    if (refused === undefined) continue;
    const [before, after] = [refused.answeredAt - claimedAt, creditedAt - refused.answeredAt].map(Math.round);
    accuse(
      'no-charge-after-a-refusal',
      row,
      `claimed ${before} ms before, and credited ${after} ms after "${refused.prompt}" was answered ${refused.answer}`,
    );
  }
  return found;
}

import { CLOCK_SKEW_INTERVAL, type Queryable, type Violation } from '../../../shared/domain/invariant.ts';
import type { ClientStore } from './clientStore.ts';
import { type ClientRule, STATEMENTS } from './violations.ts';

/** A create may be executed this long after it was sent, although its client has given up. */
const CREATE_TIMEOUT_MS = 60_000;

/** An automatic top-up. Times are by the clock of Postgres, in milliseconds, as of `Date.now`. */
interface AutoTopupRow {
  account_id: string;
  account_uuid: string;
  topup: string;
  claimed_at: number;
  /** Null while it has not succeeded. */
  credited_at: number | null;
  /** Balance that makes it needless. */
  needed_credits: number;
  /** True if a burn has left the balance below the threshold since the previous automatic top-up. */
  has_burn: boolean;
}

const AUTO_TOPUPS_SQL = `
  SELECT t.account_id::text AS account_id, a.uuid AS account_uuid, t.uuid AS topup,
         extract(epoch FROM claimed.at)::float8 * 1000 AS claimed_at,
         extract(epoch FROM credited.at)::float8 * 1000 AS credited_at,
         coalesce(t.needed_credits, a.auto_topup_threshold_credits) AS needed_credits,
         EXISTS (SELECT FROM ledger_entries l
                  WHERE l.account_id = t.account_id AND l.entry_type = 'burn'
                    AND l.balance_after < a.auto_topup_threshold_credits
                    AND l.created_at <= t.created_at + ${CLOCK_SKEW_INTERVAL}
                    AND l.created_at > coalesce((SELECT max(b.created_at) FROM topups b
                                                  WHERE b.account_id = t.account_id AND b.kind = 'automatic'
                                                    AND b.created_at < t.created_at), '-infinity') - ${CLOCK_SKEW_INTERVAL}
                ) AS has_burn
    FROM topups t
    JOIN accounts a ON a.id = t.account_id
    JOIN (SELECT topup, min(at) AS at FROM chaos.topups GROUP BY topup) claimed ON claimed.topup = t.uuid
    LEFT JOIN (SELECT topup, min(at) AS at FROM chaos.topups WHERE status = 'succeeded' GROUP BY topup) credited
           ON credited.topup = t.uuid
   WHERE t.kind = 'automatic'`;

/** The page of a manual top-up. */
interface PageRow {
  session: string;
  credits: number;
  /** Null while it has not succeeded. */
  credited_at: number | null;
}

const PAGES_SQL = `
  SELECT t.stripe_session_id AS session, t.credits, extract(epoch FROM min(c.at))::float8 * 1000 AS credited_at
    FROM topups t LEFT JOIN chaos.topups c ON c.topup = t.uuid AND c.status = 'succeeded'
   WHERE t.stripe_session_id IS NOT NULL GROUP BY t.uuid`;

/** Compares automatic charges with the requests and responses of clients. The rules hold at every moment. */
export async function compareAutoTopups(
  { sentCreates, rejectedCreates, topups }: Pick<ClientStore, 'sentCreates' | 'rejectedCreates' | 'topups'>,
  client: Queryable,
): Promise<Violation[]> {
  // In this order: a create that causes a top-up was sent before the top-up was claimed.
  const { rows } = await client.query(AUTO_TOPUPS_SQL);
  const pages = new Map(((await client.query(PAGES_SQL)).rows as PageRow[]).map((page) => [page.session, page]));
  const found = await findKeptTriggers(client);
  const report = (invariant: ClientRule, { account_id: accountId, topup }: AutoTopupRow, detail: string) =>
    found.push({ invariant, statement: STATEMENTS[invariant], accountId, subject: `top-up ${topup}`, detail });
  for (const row of rows as AutoTopupRow[]) {
    const { account_uuid: account, claimed_at: claimedAt, credited_at: creditedAt } = row;
    const isAsked = sentCreates.some(
      ({ accountUuid, at }) => accountUuid === account && at <= claimedAt && claimedAt <= at + CREATE_TIMEOUT_MS,
    );
    if (!row.has_burn && !isAsked) report('automatic-charges-have-a-cause', row, 'neither a burn nor a create');
    const paid = topups.find(({ accountUuid, sessionId, at, isAwaited }) => {
      const page = pages.get(sessionId);
      if (!isAwaited || accountUuid !== account || page === undefined || at > claimedAt) return false;
      return page.credits >= row.needed_credits && (page.credited_at === null || page.credited_at > claimedAt);
    });
    if (paid !== undefined)
      report(
        'no-needless-automatic-charge',
        row,
        `claimed ${Math.round(claimedAt - paid.at)} ms after the page ${paid.sessionId} was paid, whose credits cover the need`,
      );
    if (creditedAt === null) continue;
    // In progress when the rejection was sent: the card was charged for a rejected create.
    const refused = rejectedCreates.find(
      ({ accountUuid, respondedAt }) => accountUuid === account && claimedAt < respondedAt && respondedAt < creditedAt,
    );
    if (refused === undefined) continue;
    const [before, after] = [refused.respondedAt - claimedAt, creditedAt - refused.respondedAt].map(Math.round);
    report(
      'no-charge-after-a-rejection',
      row,
      `claimed ${before} ms before, and credited ${after} ms after "${refused.prompt}" was rejected with ${refused.response}`,
    );
  }
  return found;
}

/** Lists suspensions that kept the trigger of an automatic top-up, also if the account has been reinstated by now. */
async function findKeptTriggers(client: Queryable): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT account::text AS account, format('triggered %s, suspended %s', triggered_at, suspended_at) AS detail
       FROM chaos.kept_triggers`,
  );
  const invariant = 'suspension-clears-the-trigger' satisfies ClientRule;
  return (rows as { account: string; detail: string }[]).map(({ account, detail }) => ({
    invariant,
    statement: STATEMENTS[invariant],
    accountId: account,
    subject: 'automatic top-ups',
    detail,
  }));
}

import { getCatalog } from '../../lib/catalog/catalog.ts';
import { processor } from '../../gateways/payments/index.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { buildOutstandingSum, getMonthStart } from '../affiliates/payouts.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';

/** Reminders of a renewal: days before it, and days for which a missed one is still recorded. */
const RENEWAL_REMINDERS = [
  { days: 30, lateDays: 5 },
  { days: 7, lateDays: 3 },
] as const;

/** Records the reminders that are due: renewals in 30 and 7 days, payouts that lack their setup. */
export async function recordReminders(): Promise<void> {
  if (!isEmailEnabled()) return;
  for (const { days, lateDays } of RENEWAL_REMINDERS) await recordRenewals(days, lateDays);
  await recordMissingPayoutSetups();
}

/** The subject contains the day of the renewal: a subscription has each reminder once a year. */
const RECORD_RENEWALS = prepared(
  'record_renewal_reminders',
  `INSERT INTO outbox_events (account_id, type, subject, details, created_at)
   SELECT s.account_id, 'renewal.upcoming', reminder.subject, jsonb_build_object('plan', s.plan_slug,
          'amount_cents', cast(:yearlyCents AS jsonb) -> s.plan_slug,
          'renews_at', s.current_period_end,
          'has_tax', cast(:hasTax AS boolean)), cast(:now AS timestamptz)
     FROM subscriptions s
     JOIN accounts a ON a.id = s.account_id AND a.subscription_id = s.id
    CROSS JOIN LATERAL (SELECT concat(s.uuid, ' ', to_char(s.current_period_end AT TIME ZONE 'UTC', 'YYYY-MM-DD'), ' ',
                               cast(:days AS text)) AS subject) reminder
    WHERE s.status = 'active' AND NOT s.cancel_at_period_end AND s.stripe_subscription_id IS NOT NULL
      AND s.current_period_end > :after AND s.current_period_end <= :until
      AND a.erased_at IS NULL AND a.deletion_requested_at IS NULL
      AND NOT EXISTS (SELECT FROM outbox_events e WHERE e.account_id = s.account_id
                         AND e.type = 'renewal.upcoming' AND e.subject = reminder.subject)
    LIMIT ${STATEMENT_BATCH_SIZE}
   ON CONFLICT (account_id, type, subject) DO NOTHING
   RETURNING id`,
);

async function recordRenewals(days: number, lateDays: number): Promise<void> {
  const yearlyCents = Object.fromEntries(
    getCatalog().plans.map(({ slug, priceYearlyCents }) => [slug, priceYearlyCents]),
  );
  await runInBatches(RECORD_RENEWALS, {
    days: String(days),
    after: addMilliseconds(now(), (days - lateDays) * DAY_MS),
    until: addMilliseconds(now(), days * DAY_MS),
    yearlyCents: JSON.stringify(yearlyCents),
    hasTax: config.STRIPE_TAX === 'on',
    now: now(),
  });
}

const RECORD_MISSING_SETUPS = prepared(
  'record_missing_payout_setups',
  `INSERT INTO outbox_events (account_id, type, subject, details, created_at)
   SELECT f.account_id, 'payout.setup_missing', :month, jsonb_build_object('amount_cents', owed.cents),
          cast(:now AS timestamptz)
     FROM affiliates f
     JOIN accounts a ON a.id = f.account_id
    CROSS JOIN LATERAL (SELECT ${buildOutstandingSum('f.account_id')} AS cents) owed
    WHERE NOT f.payout_enabled AND f.closed_at IS NULL AND owed.cents > 0 AND a.erased_at IS NULL
      AND NOT EXISTS (SELECT FROM outbox_events e WHERE e.account_id = f.account_id
                         AND e.type = 'payout.setup_missing' AND e.subject = :month)
    LIMIT ${STATEMENT_BATCH_SIZE}
   ON CONFLICT (account_id, type, subject) DO NOTHING
   RETURNING id`,
);

/** Reminds affiliates, once a month, of commissions that cannot be paid out yet. */
async function recordMissingPayoutSetups(): Promise<void> {
  const month = formatUtcDay(getMonthStart(now())).slice(0, 'YYYY-MM'.length);
  await runInBatches(RECORD_MISSING_SETUPS, { month, now: now(), until: now(), isSimulated: processor.isSimulated });
}

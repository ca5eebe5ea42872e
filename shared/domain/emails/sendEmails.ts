import { MailError, type MailFault } from '../../gateways/mail/mailError.ts';
import { MAIL_CONNECTIONS, SEND_TIMEOUT_MS, sendMail } from '../../gateways/mail/mailTransport.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { isDraining } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { emailAttempts } from '../../lib/metrics.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import type { Account } from '../../tables/Account.ts';
import type { Email } from '../../tables/Email.ts';
import { isEmailEnabled } from '../outbox/recordEvent.ts';
import type { ClaimedEmail } from './renderEmail.ts';
import { isKindEnabled } from './settings.ts';

/**
 * Sends e-mail messages. Each is claimed with a lease, sent, and marked. A process that dies in between leaves the
 * lease, after which the message is sent again with the same Message-ID.
 */

/** Longer than an attempt takes. */
const LEASE_MS = SEND_TIMEOUT_MS + 2 * MINUTE_MS;
const RETRY_BACKOFF = { minMs: MINUTE_MS, maxMs: 6 * HOUR_MS };
/** Time after which a message is given up. */
const RETRY_WINDOW_MS = 3 * DAY_MS;

const CLAIM_EMAIL = prepared(
  'claim_email',
  `WITH due AS (
     SELECT id FROM emails
      WHERE status = 'pending' AND next_attempt_at <= :now AND (leased_until IS NULL OR leased_until <= :now)
      ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED
   )
   UPDATE emails e SET leased_until = :lease
     FROM due, accounts a WHERE e.id = due.id AND a.id = e.account_id
   RETURNING e.*, a.uuid AS account_uuid, a.email AS address, a.first_name, a.language, a.erased_at, a.email_settings`,
);

/** Sends all messages that are due, several at a time. Stops early if the mail server is unavailable. */
export async function sendEmails(): Promise<void> {
  if (!isEmailEnabled()) return;
  const first = await claimEmail();
  if (first === undefined) return;
  const run = { isStopped: false };
  const others = Array.from({ length: MAIL_CONNECTIONS - 1 }, async () => sendOneByOne(run, await claimEmail()));
  const results = await Promise.allSettled([sendOneByOne(run, first), ...others]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Claims the message that is due first. One at a time, so that a lease covers its own attempt only. */
async function claimEmail(): Promise<ClaimedEmail | undefined> {
  const at = now();
  const rows = await runStatement<ClaimedEmail>(CLAIM_EMAIL, { now: at, lease: addMilliseconds(at, LEASE_MS) });
  return rows[0];
}

async function sendOneByOne(run: { isStopped: boolean }, first: ClaimedEmail | undefined): Promise<void> {
  for (let email = first; email !== undefined; email = await claimEmail()) {
    // The other messages keep their place: their attempts would fail, too.
    if ((await sendClaimed(email)) === 'unavailable') run.isStopped = true;
    if (run.isStopped || isDraining()) return;
  }
}

/** Sends one message, unless it is too late, and records the outcome. */
async function sendClaimed(email: ClaimedEmail): Promise<MailFault | null> {
  const { id, kind } = email;
  if (isTooLate(email)) {
    await giveUp(email);
    return null;
  }
  if (!isMessageWanted(email, email)) {
    await runStatement(DROP_EMAIL, { id, lease: email.leased_until });
    emailAttempts.inc({ outcome: 'dropped' });
    return null;
  }
  try {
    // The texts are loaded only where e-mail is sent.
    const { renderEmail } = await import('./renderEmail.ts');
    await sendMail(renderEmail(email));
  } catch (error) {
    return recordFailure(email, error as Error);
  }
  await runStatement(COMPLETE_EMAIL, { id, lease: email.leased_until, now: now() });
  emailAttempts.inc({ outcome: 'sent' });
  logger.info({ emailId: id, kind, attempts: email.attempts + 1 }, 'e-mail sent');
  return null;
}

/** Judged at the time of the claim, so that the outcome of an attempt does not depend on how long it took. */
function isTooLate({ created_at: createdAt, leased_until: lease }: ClaimedEmail): boolean {
  return createdAt <= addMilliseconds(lease, -LEASE_MS - RETRY_WINDOW_MS);
}

/** Ends a message that is late, since no worker ran or SMTP_URL was not set: what it says may no longer be true. */
async function giveUp({ id, kind, attempts, leased_until: lease }: ClaimedEmail): Promise<void> {
  await runStatement(GIVE_UP_EMAIL, { id, lease });
  emailAttempts.inc({ outcome: 'failed' });
  logger.error({ emailId: id, kind, attempts }, 'e-mail not sent in time');
}

/** Schedules the next attempt, or gives up after a rejection. */
async function recordFailure(email: ClaimedEmail, error: Error): Promise<MailFault> {
  const { id, kind, attempts, leased_until: lease } = email;
  const fault = error instanceof MailError ? error.fault : 'deferred';
  const isFinal = fault === 'rejected';
  const dueAt = isFinal ? null : addMilliseconds(now(), getBackoffMs(attempts, RETRY_BACKOFF));
  await runStatement(RETRY_EMAIL, {
    id,
    lease,
    status: isFinal ? 'failed' : 'pending',
    dueAt,
    error: error.message.slice(0, 500),
  });
  emailAttempts.inc({ outcome: isFinal ? 'failed' : 'retried' });
  // Not the error itself: its cause contains the recipient's address.
  const fields = { emailId: id, kind, attempts: attempts + 1, error: error.message };
  if (isFinal) logger.error(fields, 'e-mail failed');
  else logger.warn(fields, 'e-mail not sent; will retry');
  return fault;
}

// The lease identifies the claim: after it has expired, another worker may have claimed the message.
const COMPLETE_EMAIL = prepared(
  'complete_email',
  `UPDATE emails SET status = 'sent', sent_at = :now, attempts = attempts + 1, next_attempt_at = NULL,
          leased_until = NULL, last_error = NULL
    WHERE id = :id AND status = 'pending' AND leased_until = :lease`,
);
const RETRY_EMAIL = prepared(
  'retry_email',
  `UPDATE emails SET status = :status, attempts = attempts + 1, next_attempt_at = :dueAt, leased_until = NULL,
          last_error = :error
    WHERE id = :id AND status = 'pending' AND leased_until = :lease`,
);
const GIVE_UP_EMAIL = prepared(
  'give_up_email',
  `UPDATE emails SET status = 'failed', next_attempt_at = NULL, leased_until = NULL,
          last_error = coalesce(last_error, 'not sent in time')
    WHERE id = :id AND status = 'pending' AND leased_until = :lease`,
);
const DROP_EMAIL = prepared('drop_email', 'DELETE FROM emails WHERE id = :id AND leased_until = :lease');

/**
 * Returns whether a message is sent to an account. Checked when it is written and when it is sent, as the account may
 * have been erased or the kind switched off in between. Suspended accounts, and those that are to be deleted, receive
 * messages.
 */
function isMessageWanted(
  { kind, params }: Pick<Email, 'kind' | 'params'>,
  { erased_at: erasedAt, email_settings: settings }: Pick<Account, 'erased_at' | 'email_settings'>,
): boolean {
  // The customer was present at a manual top-up and has seen the outcome.
  const isManualTopup = kind === 'auto_topup_failed' && params['kind'] === 'manual';
  return erasedAt === null && !isManualTopup && isKindEnabled(settings, kind);
}

import { MailError } from '../../gateways/mail/mailError.ts';
import { MAIL_CONNECTIONS, sendMail } from '../../gateways/mail/mailTransport.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { emailsEnded } from '../../lib/metrics.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import type { Account } from '../../tables/Account.ts';
import { Email } from '../../tables/Email.ts';
import { isEmailEnabled, SEND_EMAIL_KIND } from '../outbox/recordEvent.ts';
import type { Postponement, TaskKind } from '../tasks/taskKind.ts';
import type { AddressedEmail } from './renderEmail.ts';
import { isKindEnabled } from './settings.ts';

/** Time after which a message is given up. */
const SEND_WINDOW_MS = 3 * DAY_MS;

const FIND_EMAIL = prepared(
  'find_email',
  `SELECT e.*, a.uuid AS account_uuid, coalesce(e.params ->> 'recipient_email', a.email) AS address,
          coalesce(e.params ->> 'recipient_name', a.first_name) AS first_name,
          coalesce(e.params ->> 'recipient_language', a.language) AS language, a.erased_at, a.email_settings
     FROM emails e JOIN accounts a ON a.id = e.account_id WHERE e.id = :id AND e.status = 'pending'`,
);

/**
 * Sends an e-mail message, whose id is the key. A process that dies before it is marked leaves the task, after whose
 * lease it is sent again with the same Message-ID.
 */
export const SEND_EMAIL: TaskKind = {
  name: SEND_EMAIL_KIND,
  backoff: { minMs: MINUTE_MS, maxMs: 6 * HOUR_MS },
  concurrency: MAIL_CONNECTIONS,
  waiting: `SELECT account_id, cast(id AS text) AS key FROM emails WHERE status = 'pending'`,
  run: ([{ key }]) => sendEmail(Number(key)),
};

async function sendEmail(id: number): Promise<Postponement | undefined> {
  if (!isEmailEnabled()) return { runAt: addMilliseconds(now(), HOUR_MS) };
  const [email] = await runStatement<AddressedEmail>(FIND_EMAIL, { id });
  if (email === undefined) return undefined;
  if (!isMessageWanted(email, email)) {
    await pending(id).delete();
    return undefined;
  }
  // Its content may no longer be true: no worker ran, or SMTP_URL was not set.
  if (email.created_at <= addMilliseconds(now(), -SEND_WINDOW_MS)) return fail(email, 'not sent in time');
  try {
    // The texts are loaded only where e-mail is sent.
    const { renderEmail } = await import('./renderEmail.ts');
    await sendMail(renderEmail(email));
  } catch (error) {
    if (error instanceof MailError && error.fault === 'rejected') return fail(email, error.message);
    throw error;
  }
  await pending(id).patch({ status: 'sent', sent_at: now() });
  emailsEnded.inc({ outcome: 'sent' });
  logger.info({ emailId: id, kind: email.kind }, 'e-mail sent');
  return undefined;
}

async function fail({ id, kind }: AddressedEmail, reason: string): Promise<undefined> {
  await pending(id).patch({ status: 'failed', last_error: reason.slice(0, 500) });
  emailsEnded.inc({ outcome: 'failed' });
  logger.error({ emailId: id, kind, reason }, 'e-mail failed');
}

const pending = (id: number) => Email.query().where({ id, status: 'pending' });

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

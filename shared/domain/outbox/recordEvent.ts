import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { EMAIL_KIND_BY_EVENT, type EventType, isWebhookEventType } from '../../spec/events.ts';
import type { OutboxEvent } from '../../tables/OutboxEvent.ts';

/** Kinds of the tasks that dispatch events, and send the messages that follow. */
export const DISPATCH_KIND = 'event.dispatch';
export const SEND_EMAIL_KIND = 'email.send';

export interface EventInput {
  accountId: number;
  type: EventType;
  /** Key of what the event is about. A second event of the same type and subject is not recorded. */
  subject: string;
  /** Facts that cannot be read later. Never a secret. */
  details?: OutboxEvent['details'];
  /** False if no e-mail follows from it, although one follows from others of its type. */
  mayEmail?: boolean;
}

/** Returns whether this service sends e-mail. Statements that write events receive it as a parameter. */
export function isEmailEnabled(): boolean {
  return config.SMTP_URL !== undefined;
}

const RECORD_EVENT = prepared(
  'record_event',
  `INSERT INTO outbox_events (account_id, type, subject, details, may_email, created_at)
   SELECT a.id, :type, :subject, cast(:details AS jsonb), cast(:mayEmail AS boolean),
          cast(:now AS timestamptz)
     FROM accounts a
    WHERE a.id = :accountId AND a.erased_at IS NULL
      AND (a.webhook_count > 0 OR (cast(:sendsEmail AS boolean) AND a.live_account_id IS NULL))
   ON CONFLICT (account_id, type, subject) DO NOTHING`,
);

/**
 * Records an event in the transaction of its change, if a webhook or an e-mail may follow. A trigger schedules
 * its dispatch.
 * Statements that change many accounts write their events themselves (`generations/execution/failGenerations.sql`).
 */
export async function recordEvent(
  transaction: Transaction,
  { details = {}, mayEmail = true, ...event }: EventInput,
): Promise<void> {
  const sendsEmail = mayEmail && isEmailEnabled() && EMAIL_KIND_BY_EVENT[event.type] !== undefined;
  if (!sendsEmail && !isWebhookEventType(event.type)) return;
  const bindings = { ...event, details: JSON.stringify(details), mayEmail, sendsEmail, now: now() };
  await runStatement(RECORD_EVENT, bindings, transaction);
}

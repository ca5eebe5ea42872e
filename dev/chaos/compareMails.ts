import type { Queryable, Violation } from '../../shared/domain/invariant.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/spec/durations.ts';
import type { ChaosEnvironment } from './environment.ts';
import type { AcceptedMail } from './mailReceiver.ts';

const STATEMENTS = {
  'mail-is-sent': 'Every e-mail message is accepted by the mail server, unless it was given up after three days.',
  'mail-is-sent-once':
    'A message is accepted once, once more for each lost response, and twice more at most if processes died.',
  'mail-has-a-cause':
    'Every accepted message was recorded, and goes to the address of its account, or to that of the member whom it is about.',
} as const;

/** Age at which a message is given up, less a tolerance for the clocks of processes. */
const GIVEN_UP_AFTER_MS = 3 * DAY_MS - 5 * MINUTE_MS;

interface MailRow {
  uuid: string;
  account_id: string;
  kind: string;
  email: string;
  is_erased: boolean;
  /** Null: the service deleted the message, because it is not wanted any more. */
  status: string | null;
  created_at: Date;
  failed_at: Date | null;
}

/** Compares recorded messages with those that the mail server accepted, when all work has settled. */
export async function compareMails(
  { mailReceiver: { accepted }, now: toServiceTime }: Pick<ChaosEnvironment, 'mailReceiver' | 'now'>,
  client: Queryable,
): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT m.email AS uuid, a.id::text AS account_id, m.kind, coalesce(m.recipient, a.email) AS email, a.erased_at IS NOT NULL AS is_erased, e.status,
            m.created_at, m.failed_at
       FROM chaos.emails m JOIN accounts a ON a.id = m.account LEFT JOIN emails e ON e.uuid = m.email`,
  );
  const recorded = new Map((rows as MailRow[]).map((row) => [row.uuid, row]));
  const byUuid = new Map<string, AcceptedMail[]>();
  for (const mail of accepted) byUuid.set(mail.uuid, [...(byUuid.get(mail.uuid) ?? []), mail]);
  const found: Violation[] = [];
  const report = (invariant: keyof typeof STATEMENTS, row: MailRow | undefined, uuid: string, detail: string) =>
    found.push({
      invariant,
      statement: STATEMENTS[invariant],
      accountId: row?.account_id ?? null,
      subject: `message ${uuid} ${row?.kind ?? ''}`,
      detail,
    });
  const isGivenUp = ({ created_at: createdAt, failed_at: failedAt }: MailRow) =>
    failedAt !== null && toServiceTime(failedAt.getTime()).getTime() - createdAt.getTime() >= GIVEN_UP_AFTER_MS;
  for (const row of recorded.values()) {
    const { status } = row;
    if (status === 'sent' ? !byUuid.has(row.uuid) : status === 'failed' ? !isGivenUp(row) : status !== null)
      report(
        'mail-is-sent',
        row,
        row.uuid,
        `is ${row.status}, and was accepted ${byUuid.get(row.uuid)?.length ?? 0} times`,
      );
  }
  for (const [uuid, mails] of byUuid) {
    const row = recorded.get(uuid);
    const wrong = mails.find(({ to }) => to !== row?.email);
    if (row === undefined || (wrong !== undefined && !row.is_erased))
      report('mail-has-a-cause', row, uuid, `was sent to ${mails[0]?.to}`);
    const cuts = mails.filter(({ isCut }) => isCut).length;
    if (mails.length > 3 + cuts)
      report('mail-is-sent-once', row, uuid, `was accepted ${mails.length} times, ${cuts} cut`);
  }
  return found;
}

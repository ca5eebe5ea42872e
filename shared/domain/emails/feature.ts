import { db } from '../../lib/database/pool.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { Email } from '../../tables/Email.ts';
import { type ExportList, selectNext } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { SEND_EMAIL } from './sendEmails.ts';

/**
 * Lists the messages of an account. Of those to other people, such as members and invited ones, only the address: the
 * rest is about them.
 */
const SENT_EMAILS: ExportList = {
  name: 'emails',
  select: (accountId, after) =>
    selectNext(
      db('emails')
        .join('accounts', 'accounts.id', 'emails.account_id')
        .select('emails.kind', 'emails.status', 'emails.created_at', 'emails.sent_at')
        .select(
          db.raw(`CASE WHEN coalesce(emails.params ->> 'recipient_email', accounts.email) = accounts.email
                       THEN emails.params - ARRAY['recipient_email', 'recipient_name', 'recipient_language']
                       ELSE jsonb_build_object('recipient_email', emails.params ->> 'recipient_email') END AS params`),
        )
        .where('emails.account_id', accountId),
      'emails.id',
      after,
    ),
};

export const EMAILS: DomainFeature = {
  exportLists: [SENT_EMAILS],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await Email.query(transaction).delete().where({ account_id: accountId });
    },
  },
  tasks: [SEND_EMAIL],
  retention: [{ table: 'emails', key: 'id', since: 'created_at', afterMs: 90 * DAY_MS }],
};

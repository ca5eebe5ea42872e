import { DAY_MS } from '../../spec/durations.ts';
import { Email } from '../../tables/Email.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { SEND_EMAIL } from './sendEmails.ts';

export const EMAILS: DomainFeature = {
  exportLists: [listTable('emails', 'id', ['kind', 'params', 'status', 'created_at', 'sent_at'])],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await Email.query(transaction).delete().where({ account_id: accountId });
    },
  },
  tasks: [SEND_EMAIL],
  retention: [{ table: 'emails', key: 'id', since: 'created_at', afterMs: 90 * DAY_MS }],
};

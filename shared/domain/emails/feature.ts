import { Email } from '../../tables/Email.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { pruneEmails } from './sendEmails.ts';

export const EMAILS: DomainFeature = {
  exportLists: [listTable('emails', 'id', ['kind', 'params', 'status', 'created_at', 'sent_at'])],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await Email.query(transaction).delete().where({ account_id: accountId });
    },
  },
  retention: { 'events.prune': [pruneEmails] },
};

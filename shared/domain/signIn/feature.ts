import { Identity } from '../../tables/Identity.ts';
import { Session } from '../../tables/Session.ts';
import { SignInAttempt } from '../../tables/SignInAttempt.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { revokeAccess } from './revokeAccess.ts';

export const SIGN_IN: DomainFeature = {
  exportLists: [
    listTable('identities', 'uuid', ['uuid', 'provider', 'issuer', 'subject', 'email', 'created_at']),
    listTable('sessions', 'uuid', ['uuid', 'user_agent', 'created_at', 'last_used_at', 'expires_at']),
  ],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      const sessions = Session.query(transaction).where({ account_id: accountId });
      await SignInAttempt.query(transaction)
        .whereIn('linking_session_hash', sessions.select('token_hash'))
        .orWhere({ referral_signed_in_account_id: accountId })
        .delete();
      await Identity.query(transaction).where({ account_id: accountId }).forUpdate();
      await revokeAccess(transaction, accountId);
      await Identity.query(transaction).delete().where({ account_id: accountId });
    },
  },
  retention: [
    { table: 'sessions', key: 'token_hash', since: 'expires_at', afterMs: 0 },
    { table: 'sign_in_attempts', key: 'state_hash', since: 'expires_at', afterMs: 0 },
  ],
};

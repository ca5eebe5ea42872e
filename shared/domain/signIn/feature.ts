import { now } from '../../lib/clock.ts';
import { Member } from '../../tables/Member.ts';
import { Session } from '../../tables/Session.ts';
import { SignInAttempt } from '../../tables/SignInAttempt.ts';
import { listTable } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { erasePersonWithoutAccount } from './erasePerson.ts';
import { revokeAccess } from './revokeAccess.ts';

/** Sign-in methods and sessions are those of the person, who may be a member of several accounts. */
const OF_OWNER = { owner: 'person_id', of: 'owner' } as const;

export const SIGN_IN: DomainFeature = {
  exportLists: [
    listTable('identities', 'uuid', ['uuid', 'provider', 'issuer', 'subject', 'email', 'created_at'], OF_OWNER),
    listTable('sessions', 'uuid', ['uuid', 'user_agent', 'created_at', 'last_used_at', 'expires_at'], OF_OWNER),
  ],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      const sessions = Session.query(transaction).where({ account_id: accountId });
      await SignInAttempt.query(transaction)
        .whereIn('linking_session_hash', sessions.select('token_hash'))
        .orWhere({ referral_signed_in_account_id: accountId })
        .delete();
      await revokeAccess(transaction, accountId);
      const removed = await Member.query(transaction)
        .where({ account_id: accountId })
        .whereNull('removed_at')
        .patch({ removed_at: now() })
        .returning('person_id');
      const personIds = removed.map(({ person_id: personId }) => personId).sort((a, b) => a - b);
      for (const personId of personIds) await erasePersonWithoutAccount(transaction, personId);
    },
  },
  retention: [
    { table: 'sessions', key: 'token_hash', since: 'expires_at', afterMs: 0 },
    { table: 'sign_in_attempts', key: 'state_hash', since: 'expires_at', afterMs: 0 },
  ],
};

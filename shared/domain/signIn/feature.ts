import { now } from '../../lib/clock.ts';
import { db } from '../../lib/database/pool.ts';
import { Member } from '../../tables/Member.ts';
import { Session } from '../../tables/Session.ts';
import { SignInAttempt } from '../../tables/SignInAttempt.ts';
import { type ExportList, qualifyColumns, selectNext } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { erasePersonWithoutAccount } from './erasePerson.ts';
import { revokeAccess } from './revokeAccess.ts';

/** Lists a table of the owner of an account, who may be a member of others. */
function listOfOwner(table: string, columns: readonly string[]): ExportList {
  return {
    name: table,
    select: (accountId, after) =>
      selectNext(
        db(table)
          .select(qualifyColumns(table, columns))
          .where('person_id', db('members').select('person_id').where({ account_id: accountId, role: 'owner' })),
        `${table}.uuid`,
        after,
      ),
  };
}

export const SIGN_IN: DomainFeature = {
  exportLists: [
    listOfOwner('identities', ['uuid', 'provider', 'issuer', 'subject', 'email', 'created_at']),
    listOfOwner('sessions', ['uuid', 'user_agent', 'created_at', 'last_used_at', 'expires_at']),
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

import { db } from '../../lib/database/pool.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { Invitation } from '../../tables/Invitation.ts';
import { type ExportList, listTable, selectNext } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { MEMBER_INVARIANTS } from './invariants.ts';

/** Days for which an invitation is kept after its expiry. */
const INVITATION_RETENTION_DAYS = 30;

/** Lists the members with their addresses. What else is stored about them is in their own downloads. */
const LISTED_MEMBERS: ExportList = {
  name: 'members',
  select: (accountId, after) =>
    selectNext(
      db('members')
        .join('people', 'people.id', 'members.person_id')
        .select('members.number', 'members.uuid', 'people.email', 'members.role')
        .select('members.created_at', 'members.invited_by', 'members.removed_at')
        .where('members.account_id', accountId),
      'members.number',
      after,
    ),
};

export const MEMBERS: DomainFeature = {
  invariants: MEMBER_INVARIANTS,
  exportLists: [
    LISTED_MEMBERS,
    listTable('invitations', 'uuid', [
      'uuid',
      'email',
      'role',
      'created_at',
      'expires_at',
      'accepted_at',
      'revoked_at',
    ]),
  ],
  erasure: {
    inTransaction: async (transaction, { id: accountId }) => {
      await Invitation.query(transaction).delete().where({ account_id: accountId });
    },
  },
  retention: [{ table: 'invitations', key: 'uuid', since: 'expires_at', afterMs: INVITATION_RETENTION_DAYS * DAY_MS }],
};

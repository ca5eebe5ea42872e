import {
  findApiKeyForStaff,
  findMemberForStaff,
  isAnyRevoked,
  removeMemberByStaff,
  revokeAccountAccess,
  signOutAccount,
} from '../../../../../shared/domain/staff/accessActions.ts';
import { findAccountForStaff } from '../../../../../shared/domain/staff/accountOverview.ts';
import { reinstateAccount, suspendAccount } from '../../../../../shared/domain/staff/suspension.ts';
import { getAccount } from '../../../../../shared/domain/accounts/accounts.ts';
import { revokeApiKey } from '../../../../../shared/domain/accounts/apiKeys.ts';
import { buildServiceCaller } from '../../../../../shared/domain/accounts/caller.ts';
import type { Account } from '../../../../../shared/tables/Account.ts';
import type { Member } from '../../../../../shared/tables/Member.ts';
import { ACCOUNTS_PATH } from '../accountSearch.tsx';
import { defineAction } from './defineAction.tsx';

/** Outcome code of an action that had been performed before. */
export const UNCHANGED = 'unchanged';

/** Returns the path of the page of an account. */
export function getAccountPath({ uuid }: Pick<Account, 'uuid'>): string {
  return `${ACCOUNTS_PATH}${uuid}/`;
}

export const suspend = defineAction({
  find: findAccountForStaff,
  describe: (account) => ({
    question: `Suspend ${account.email}?`,
    consequences: (
      <p>
        The account is signed out everywhere. Its API keys, applications and sign-ins are rejected, and no generation is
        accepted, until it is reinstated. Generations in progress finish. Automatic top-ups stop; the subscription
        continues at the payment processor.
      </p>
    ),
    button: 'Suspend account',
    returnPath: getAccountPath(account),
  }),
  perform: async ({ id }, { actor }) => ((await suspendAccount(id, actor)).isChanged ? 'suspended' : UNCHANGED),
});

export const reinstate = defineAction({
  find: findAccountForStaff,
  describe: (account) => ({
    question: `Reinstate ${account.email}?`,
    consequences: <p>API keys and applications that were not revoked work again, and the owner can sign in.</p>,
    button: 'Reinstate account',
    isHarmless: true,
    returnPath: getAccountPath(account),
  }),
  perform: async ({ id }, { actor }) => ((await reinstateAccount(id, actor)).isChanged ? 'reinstated' : UNCHANGED),
});

export const signOut = defineAction({
  find: findAccountForStaff,
  describe: (account) => ({
    question: `Sign ${account.email} out everywhere?`,
    consequences: <p>All sessions end. API keys and applications keep working, and the owner can sign in again.</p>,
    button: 'Sign out everywhere',
    returnPath: getAccountPath(account),
  }),
  perform: async ({ id }, { actor }) => ((await signOutAccount(id, actor)) > 0 ? 'signed-out' : UNCHANGED),
});

export const revokeAccess = defineAction({
  find: findAccountForStaff,
  describe: (account) => ({
    question: `Revoke all access to ${account.email}?`,
    consequences: (
      <p>
        All sessions end, and all API keys, applications and open invitations are revoked, which cannot be undone.
        Webhook endpoints are disabled. The owner can sign in again, create new keys and enable the endpoints. The other
        members can sign in again, too: remove those whom the owner does not know.
      </p>
    ),
    button: 'Revoke all access',
    returnPath: getAccountPath(account),
  }),
  perform: async ({ id }, { actor }) =>
    isAnyRevoked(await revokeAccountAccess(id, actor)) ? 'access-revoked' : UNCHANGED,
});

export const removeMember = defineAction({
  find: findMemberForStaff,
  describe: ({ member, email, account }) => ({
    question: `Remove ${email} from the account of ${account.email}?`,
    consequences: (
      <p>
        The sessions of this {member.role} in the account end. The API keys and applications that it made, and the
        invitations that it sent, are revoked, which cannot be undone. A person without another account is deleted.
      </p>
    ),
    button: 'Remove member',
    closed: describeClosedRemoval(member),
    returnPath: getAccountPath(account),
  }),
  perform: async ({ member }, { actor }) => ((await removeMemberByStaff(member, actor)) ? 'member-removed' : UNCHANGED),
});

function describeClosedRemoval({ role, removed_at: removedAt }: Member): string | undefined {
  if (removedAt !== null) return 'This person is no longer a member of the account.';
  if (role === 'owner') return 'The owner of an account cannot be removed.';
  return undefined;
}

export const revokeKey = defineAction({
  find: async (uuid) => {
    const key = await findApiKeyForStaff(uuid);
    return { key, account: await getAccount(key.account_id) };
  },
  describe: ({ key, account }) => ({
    question: `Revoke the API key “${key.name}” of ${account.email}?`,
    consequences: (
      <p>
        Programs that use <code>{key.prefix}…</code> stop working immediately. This cannot be undone.
      </p>
    ),
    button: 'Revoke API key',
    returnPath: getAccountPath(account),
  }),
  perform: async ({ key }, { actor }) => {
    const isRevoked = await revokeApiKey(buildServiceCaller(key.account_id), key.uuid, { actor });
    return isRevoked ? 'key-revoked' : UNCHANGED;
  },
});

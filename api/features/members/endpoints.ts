import {
  inviteMember,
  listInvitations,
  resendInvitation,
  revokeInvitation,
  type SentInvitation,
} from '../../../shared/domain/members/invitations.ts';
import {
  changeMember,
  findMember,
  handOverAccount,
  leaveAccount,
  listMembers,
  removeMember,
  revokeMemberAccess,
  type ListedMember,
} from '../../../shared/domain/members/members.ts';
import { listJoinedAccounts, switchAccount } from '../../../shared/domain/members/switchAccount.ts';
import { listMemberLimits } from '../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import type { Context } from '../../context.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { ListQuery, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import {
  EndedAccessResponse,
  InvitationResponse,
  InviteRequest,
  JoinedAccountResponse,
  JoinedAccountsResponse,
  MemberResponse,
  RemoveMemberRequest,
  SentInvitationResponse,
  UpdateMemberRequest,
} from './schemas.ts';
import type { Static } from 'typebox';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { presentCreditLimit, type SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import type { Invitation } from '../../../shared/tables/Invitation.ts';

const EXAMPLE_MEMBER = {
  uuid: EXAMPLE_UUID,
  email: 'dev@example.org',
  first_name: 'Ada',
  role: 'developer',
  api_keys: 1,
  applications: 0,
  created_at: EXAMPLE_TIMESTAMP,
  removed_at: null,
};

const EXAMPLE_INVITATION = {
  uuid: EXAMPLE_UUID,
  email: 'dev@example.org',
  role: 'developer',
  created_at: EXAMPLE_TIMESTAMP,
  expires_at: '2026-11-28T09:30:00.000Z',
};

const SENT_INVITATION = {
  schema: SentInvitationResponse,
  example: { ...EXAMPLE_INVITATION, url: 'https://service.example/account/invitations/4f8c1d2a/' },
};

const ENDED_ACCESS = { schema: EndedAccessResponse, example: { sessions: 1, keys: 0, grants: 0 } };

/** Returns whether a request changes a role, which may give more rights. */
const changesRole = (ctx: Context) => Object.hasOwn(Object(getJsonBody(ctx)) as object, 'role');

export const MEMBERS: Feature = {
  tag: {
    name: 'Members',
    description: 'People of an account with their roles, and invitations. Changes require the session cookie.',
  },
  schemas: { Member: MemberResponse, Invitation: InvitationResponse },
  endpoints: [
    defineEndpoint({
      id: 'listMembers',
      route: 'GET /api/members/',
      policy: { needs: 'viewMembers', access: 'account' },
      summary: 'List members, newest first',
      description:
        'Includes those who left or were removed, with the keys and applications that they made and that stay.',
      query: ListQuery,
      response: pageResponse(MemberResponse, EXAMPLE_MEMBER),
      run: async ({ accountId, query }) => {
        const [page, limits] = await Promise.all([listMembers(accountId, query.page), listMemberLimits(accountId)]);
        return presentPage(page, '/api/members/', (member) => presentMember(member, limits.get(member.number) ?? null));
      },
    }),
    defineEndpoint({
      id: 'updateMember',
      route: 'PATCH /api/members/:uuid/',
      policy: { credential: 'session', needs: 'manageMembers', recentSignIn: changesRole },
      summary: 'Change the role or the spending limit of a member',
      description:
        'What is not given stays as it is. Takes effect immediately, also for the keys and applications of the member.',
      request: UpdateMemberRequest,
      example: { role: 'developer', credit_limit: { credits: 200, period: 'month' } },
      response: { description: 'The changed member.', schema: MemberResponse, example: EXAMPLE_MEMBER },
      run: async ({ ctx, caller, accountId, uuid, body }) => {
        await changeMember(caller, uuid, body, getRequestOrigin(ctx));
        const member = await findMember(accountId, uuid);
        return presentMember(member, (await listMemberLimits(accountId)).get(member.number) ?? null);
      },
    }),
    defineEndpoint({
      id: 'removeMember',
      route: 'POST /api/members/:uuid/remove/',
      policy: { credential: 'session', needs: 'manageMembers', recentSignIn: true },
      summary: 'Remove a member',
      description:
        'Ends the sessions of the member in this account. Keys and applications stay with the last role unless they are revoked.',
      request: RemoveMemberRequest,
      example: { revoke_access: true },
      isRequestOptional: true,
      response: { description: 'The member is removed.', ...ENDED_ACCESS },
      run: ({ ctx, caller, uuid, body }) =>
        removeMember(caller, uuid, { revokesAccess: body.revoke_access === true }, getRequestOrigin(ctx)),
    }),
    defineEndpoint({
      id: 'revokeMemberAccess',
      route: 'POST /api/members/:uuid/revoke-access/',
      policy: { credential: 'session', needs: 'manageMembers', recentSignIn: true },
      summary: 'Revoke the API keys and applications of a member',
      description: 'Also of one who was removed.',
      response: { description: 'They are revoked.', schema: EndedAccessResponse, example: { keys: 1, grants: 0 } },
      run: ({ ctx, caller, uuid }) => revokeMemberAccess(caller, uuid, getRequestOrigin(ctx)),
    }),
    defineEndpoint({
      id: 'handOverAccount',
      route: 'POST /api/members/:uuid/hand-over/',
      policy: { credential: 'session', needs: 'own', recentSignIn: true },
      summary: 'Hand the account over to a member',
      description:
        'The member becomes the owner, whose address is that of the account. The former owner becomes an admin.',
      response: { status: 204, description: 'The member is the owner.' },
      run: ({ ctx, caller, uuid }) => handOverAccount(caller, uuid, getRequestOrigin(ctx)),
    }),
    defineEndpoint({
      id: 'leaveAccount',
      route: 'POST /authentication/leave/',
      policy: { surface: 'json', credential: 'session', needs: 'actForOneself', recentSignIn: true },
      summary: 'Leave the account',
      description: 'Ends the sessions of the member in this account. The owner hands the account over first.',
      response: { description: 'The caller is not a member any more.', ...ENDED_ACCESS },
      run: ({ ctx, caller }) => leaveAccount(caller, getRequestOrigin(ctx)),
    }),
    defineEndpoint({
      id: 'inviteMember',
      route: 'POST /api/invitations/create/',
      policy: { credential: 'session', needs: 'manageMembers', recentSignIn: true },
      summary: 'Invite a person',
      description:
        'Sends a link by e-mail, which only the invited address can accept, for 7 days. An open invitation of the address is replaced.',
      request: InviteRequest,
      example: { email: 'dev@example.org', role: 'developer' },
      response: { status: 201, description: 'The invitation.', ...SENT_INVITATION },
      run: async ({ ctx, caller, body }) =>
        presentSentInvitation(await inviteMember(caller, body, getRequestOrigin(ctx))),
    }),
    defineEndpoint({
      id: 'listInvitations',
      route: 'GET /api/invitations/',
      policy: { needs: 'manageMembers', access: 'account' },
      summary: 'List open invitations, newest first',
      description: 'Those that were not accepted or revoked, also after their expiry.',
      query: ListQuery,
      response: pageResponse(InvitationResponse, EXAMPLE_INVITATION),
      run: async ({ accountId, query }) =>
        presentPage(await listInvitations(accountId, query.page), '/api/invitations/', presentInvitation),
    }),
    defineEndpoint({
      id: 'resendInvitation',
      route: 'POST /api/invitations/:uuid/resend/',
      policy: { credential: 'session', needs: 'manageMembers', recentSignIn: true },
      summary: 'Send an invitation again',
      description: 'With a new link, which is valid for 7 days. The former link stops working.',
      response: { description: 'The invitation.', ...SENT_INVITATION },
      run: async ({ caller, uuid }) => presentSentInvitation(await resendInvitation(caller, uuid)),
    }),
    defineEndpoint({
      id: 'revokeInvitation',
      route: 'POST /api/invitations/:uuid/revoke/',
      policy: { credential: 'session', needs: 'manageMembers' },
      summary: 'Revoke an invitation',
      response: { status: 204, description: 'The link stops working.' },
      run: ({ ctx, caller, uuid }) => revokeInvitation(caller, uuid, getRequestOrigin(ctx)),
    }),
    defineEndpoint({
      id: 'listAccounts',
      route: 'GET /authentication/accounts/',
      policy: { surface: 'json', credential: 'session', needs: 'actForOneself' },
      summary: 'List the accounts of the signed-in user',
      response: {
        description: 'The accounts, own ones first.',
        schema: JoinedAccountsResponse,
        example: {
          accounts: [{ uuid: EXAMPLE_UUID, email: 'owner@example.org', role: 'developer', is_current: true }],
        },
      },
      run: async ({ caller }) => ({
        accounts: (await listJoinedAccounts(caller)).map((account) => presentAs(JoinedAccountResponse, account)),
      }),
    }),
    defineEndpoint({
      id: 'switchAccount',
      route: 'POST /authentication/accounts/:uuid/switch/',
      policy: { surface: 'json', credential: 'session', needs: 'actForOneself' },
      summary: 'Switch to another account',
      description: 'The session acts on that account from then on, and so do later sign-ins.',
      response: { status: 204, description: 'The session acts on the account.' },
      errors: ['account_suspended', 'insufficient_scope'],
      run: ({ ctx, caller, uuid }) => switchAccount(caller, uuid, getRequestOrigin(ctx)),
    }),
  ],
};

const presentMember = (member: ListedMember, limit: SpendingLimitState | null): Static<typeof MemberResponse> =>
  presentAs(MemberResponse, member, limit === null ? {} : presentCreditLimit(limit));

const presentInvitation = (invitation: Invitation): Static<typeof InvitationResponse> =>
  presentAs(InvitationResponse, invitation);

const presentSentInvitation = ({ invitation, url }: SentInvitation): Static<typeof SentInvitationResponse> =>
  presentAs(SentInvitationResponse, invitation, { url });

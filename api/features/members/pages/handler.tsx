import {
  acceptInvitation,
  findInvitation,
  inviteMember,
  readInvitation,
  resendInvitation,
  revokeInvitation,
} from '../../../../shared/domain/members/invitations.ts';
import {
  changeMember,
  handOverAccount,
  leaveAccount,
  removeMember,
  revokeMemberAccess,
} from '../../../../shared/domain/members/members.ts';
import { switchAccount } from '../../../../shared/domain/members/switchAccount.ts';
import { isUuid } from '../../../../shared/lib/uuid.ts';
import { createBodyParser } from '../../../../shared/lib/validation/bodyParser.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { getPathParam, parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { type Confirmation, defineAccountAction } from '../../../web/components/accountAction.tsx';
import { nameCurrentAccount } from '../../../web/components/accountSwitch.tsx';
import { formatDateTime } from '../../../web/components/formatTime.ts';
import { readFormerState } from '../../../web/components/editForm.tsx';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { InviteRequest, UpdateMemberRequest } from '../schemas.ts';
import { findNamedMember, memberForm, renderMemberPage } from './memberPage.tsx';
import { ROLES, t } from './texts.ts';
import { describeAccess, inviteForm, MEMBERS_PATH, renderMembersPage } from './view.tsx';

const parseInvite = createBodyParser(InviteRequest);
const parseChange = createBodyParser(UpdateMemberRequest);
const withListErrors = showErrorsOn(renderMembersPage);
const withMemberErrors = showErrorsOn(renderMemberPage, withListErrors);

export const invite = withListErrors(async (ctx) => {
  await inviteMember(requireCaller(ctx), parseInvite(inviteForm.read(getForm(ctx))), getRequestOrigin(ctx));
  seeOther(ctx, `${MEMBERS_PATH}?done=invited`);
});

export const resend = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx, caller) => {
    const { email, expires_at: expiresAt } = await findInvitation(caller.accountId, parseUuidParam(ctx));
    return {
      question: t.resendNamed({ name: email }),
      consequences: <p>{t.expires({ time: formatDateTime(expiresAt) })}</p>,
      button: t.resend(),
      isHarmless: true,
      returnPath: MEMBERS_PATH,
    };
  },
  perform: async (ctx, caller) => {
    await resendInvitation(caller, parseUuidParam(ctx));
    return `${MEMBERS_PATH}?done=invited`;
  },
});

export const revoke = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx, caller) => {
    const { email, expires_at: expiresAt } = await findInvitation(caller.accountId, parseUuidParam(ctx));
    return {
      question: t.revokeNamed({ name: email }),
      consequences: <p>{t.expires({ time: formatDateTime(expiresAt) })}</p>,
      button: t.revoke(),
      returnPath: MEMBERS_PATH,
    };
  },
  perform: async (ctx, caller) => {
    await revokeInvitation(caller, parseUuidParam(ctx), getRequestOrigin(ctx));
    return `${MEMBERS_PATH}?done=invitation-revoked`;
  },
});

export const showMemberPage = withListErrors(renderMemberPage);

export const saveMember = withMemberErrors(async (ctx) => {
  const form = getForm(ctx);
  const change = { ...parseChange(memberForm.read(form)), expected: readFormerState(form) };
  await changeMember(requireCaller(ctx), parseUuidParam(ctx), change, getRequestOrigin(ctx));
  seeOther(ctx, `${MEMBERS_PATH}?done=saved`);
});

export const remove = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx) => {
    const member = await findNamedMember(ctx);
    return {
      question: t.removeQuestion({ name: member.email }),
      consequences: <p>{t.removeEffect({ access: describeAccess(member) })}</p>,
      button: t.remove(),
      returnPath: `${MEMBERS_PATH}${member.uuid}/`,
    };
  },
  perform: async (ctx, caller) => {
    await removeMember(caller, parseUuidParam(ctx), { revokesAccess: false }, getRequestOrigin(ctx));
    return `${MEMBERS_PATH}?done=removed`;
  },
});

export const revokeAccess = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx) => {
    const member = await findNamedMember(ctx);
    return {
      question: t.revokeAccessQuestion({ name: member.email }),
      consequences: <p>{t.revokeAccessEffect({ access: describeAccess(member) })}</p>,
      button: t.revokeAccess(),
      returnPath: `${MEMBERS_PATH}${member.uuid}/`,
    };
  },
  perform: async (ctx, caller) => {
    await revokeMemberAccess(caller, parseUuidParam(ctx), getRequestOrigin(ctx));
    return `${MEMBERS_PATH}?done=access-revoked`;
  },
});

export const handOver = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx) => {
    const member = await findNamedMember(ctx);
    return {
      question: t.handOverQuestion({ name: member.email }),
      consequences: <p>{t.handOverEffect()}</p>,
      button: t.handOver(),
      returnPath: `${MEMBERS_PATH}${member.uuid}/`,
    };
  },
  perform: async (ctx, caller) => {
    await handOverAccount(caller, parseUuidParam(ctx), getRequestOrigin(ctx));
    return `${MEMBERS_PATH}?done=handed-over`;
  },
});

export const leave = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx): Promise<Confirmation> => ({
    question: t.leaveQuestion({ account: await nameCurrentAccount(ctx) }),
    consequences: <p>{t.leaveEffect()}</p>,
    button: t.leave(),
    returnPath: MEMBERS_PATH,
  }),
  perform: async (ctx, caller) => {
    await leaveAccount(caller, getRequestOrigin(ctx));
    return '/sign-in?done=signed-out';
  },
});

const readToken = (ctx: Context): string => getPathParam(ctx, 'token');

/** Asks whether to accept an invitation. Opening the address changes nothing. */
export const invitation = defineAccountAction({
  withErrors: (handler) => handler,
  describe: async (ctx, caller) => {
    const { invitation: received, account } = await readInvitation(caller, readToken(ctx));
    return {
      question: t.invitationTitle({ account }),
      consequences: <p>{t.invitationEffect({ role: ROLES[received.role]() })}</p>,
      button: t.accept(),
      isHarmless: true,
      returnPath: '/account/',
    };
  },
  perform: async (ctx, caller) => {
    await acceptInvitation(caller, readToken(ctx), getRequestOrigin(ctx));
    return '/account/';
  },
});

/** Lets the session act on another account of the person, from the form in the navigation. */
export async function submitSwitch(ctx: Context): Promise<void> {
  const uuid = getForm(ctx).get('switch_to') ?? '';
  if (!isUuid(uuid)) throw new ServiceError('validation_error', 'No account was chosen. Go back and choose one.');
  await switchAccount(requireCaller(ctx), uuid, getRequestOrigin(ctx));
  seeOther(ctx, '/account/');
}

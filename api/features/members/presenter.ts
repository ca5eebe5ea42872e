import type { Static } from 'typebox';
import type { SentInvitation } from '../../../shared/domain/members/invitations.ts';
import type { ListedMember } from '../../../shared/domain/members/members.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { presentCreditLimit, type SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import { InvitationResponse, MemberResponse, SentInvitationResponse } from './schemas.ts';
import type { Invitation } from '../../../shared/tables/Invitation.ts';

export const presentMember = (member: ListedMember, limit: SpendingLimitState | null): Static<typeof MemberResponse> =>
  presentAs(MemberResponse, member, limit === null ? {} : presentCreditLimit(limit));

export const presentInvitation = (invitation: Invitation): Static<typeof InvitationResponse> =>
  presentAs(InvitationResponse, invitation);

export const presentSentInvitation = ({ invitation, url }: SentInvitation): Static<typeof SentInvitationResponse> =>
  presentAs(SentInvitationResponse, invitation, { url });

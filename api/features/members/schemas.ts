import Type from 'typebox';
import { CreditLimit, CreditLimitUse } from '../../../shared/presenters/spendingLimit.ts';
import { NO_OTHER_FIELDS, objectOrNull, Timestamp, timestampOrNull, Uuid } from '../../../shared/presenters/fields.ts';
import { ASSIGNABLE_ROLES, MEMBER_ROLES } from '../../../shared/spec/roles.ts';
import { EMAIL_MAX_CHARACTERS } from '../../../shared/lib/email.ts';

const Role = Type.Enum([...MEMBER_ROLES], { description: 'What the member may do: see Members' });
const AssignableRole = Type.Enum([...ASSIGNABLE_ROLES], { description: 'What the member may do: see Members' });

export const MemberResponse = Type.Object({
  uuid: Uuid,
  email: Type.String(),
  first_name: Type.String(),
  role: Role,
  api_keys: Type.Integer({ description: 'Active API keys that the member created' }),
  applications: Type.Integer({ description: 'Connected applications that the member approved' }),
  created_at: Timestamp,
  removed_at: timestampOrNull('When the member left or was removed, in ISO 8601, UTC; null for a member'),
  ...Type.Partial(CreditLimitUse).properties,
});

export const UpdateMemberRequest = Type.Object(
  {
    role: Type.Optional(AssignableRole),
    credit_limit: Type.Optional(
      objectOrNull(
        CreditLimit,
        'Most credits that the member may spend, with all sessions, keys and applications; null for no limit',
      ),
    ),
  },
  NO_OTHER_FIELDS,
);

export const RemoveMemberRequest = Type.Object(
  {
    revoke_access: Type.Optional(
      Type.Boolean({ description: 'Also revokes the API keys and applications that the member made. Default: false' }),
    ),
  },
  NO_OTHER_FIELDS,
);

export const EndedAccessResponse = Type.Object({
  sessions: Type.Optional(Type.Integer({ description: 'Sessions that ended' })),
  keys: Type.Integer({ description: 'API keys that were revoked' }),
  grants: Type.Integer({ description: 'Approvals of applications that were revoked' }),
});

export const InvitationResponse = Type.Object({
  uuid: Uuid,
  email: Type.String(),
  role: AssignableRole,
  created_at: Timestamp,
  expires_at: Timestamp,
});

export const SentInvitationResponse = Type.Object({
  ...InvitationResponse.properties,
  url: Type.String({ description: 'The link of the message, which only the invited address can accept' }),
});

export const InviteRequest = Type.Object(
  {
    email: Type.String({ trimmed: true, minLength: 1, maxLength: EMAIL_MAX_CHARACTERS, format: 'text' }),
    role: AssignableRole,
  },
  NO_OTHER_FIELDS,
);

export const JoinedAccountResponse = Type.Object({
  uuid: Uuid,
  email: Type.String({ description: 'Address of the owner' }),
  role: Role,
  is_current: Type.Boolean({ description: 'True for the account that the session acts on' }),
});

export const JoinedAccountsResponse = Type.Object({ accounts: Type.Array(JoinedAccountResponse) });

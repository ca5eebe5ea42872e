import type { VNode } from 'preact';
import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { listInvitations } from '../../../../shared/domain/members/invitations.ts';
import { type ListedMember, listMembers } from '../../../../shared/domain/members/members.ts';
import { listMemberLimits } from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import type { ListPage } from '../../../../shared/lib/pagination.ts';
import type { SpendingLimitState } from '../../../../shared/presenters/spendingLimit.ts';
import { ASSIGNABLE_ROLES } from '../../../../shared/spec/roles.ts';
import type { Invitation } from '../../../../shared/tables/Invitation.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { consumeDraft, DRAFT_ACCOUNT_FIELD } from '../../../pipeline/cookies/draftCookie.ts';
import { parsePage } from '../../../pipeline/lists.ts';
import { mayDo, type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { defineForm } from '../../../web/components/defineForm.tsx';
import { Form } from '../../../web/components/form.tsx';
import { selectField, textField } from '../../../web/components/formFields.tsx';
import { formatDate, formatDateTime } from '../../../web/components/formatTime.ts';
import { PageLinks } from '../../../web/components/pageLinks.tsx';
import { describeLimitUse } from '../../../web/components/spendingLimit.tsx';
import { t as shared } from '../../../web/texts.ts';
import { InviteRequest } from '../schemas.ts';
import { Section } from '../../../web/components/section.tsx';
import { t as names } from '../../texts.ts';
import { ROLES, t } from './texts.ts';

export const MEMBERS_PATH = '/account/members/';
/** Parameter with the page of the invitations: `page` is that of the members. */
const INVITATIONS_PAGE = 'invitations_page';

const OUTCOMES = {
  invited: t.invited,
  'invitation-revoked': t.revoked,
  saved: t.saved,
  removed: t.removed,
  'access-revoked': t.accessRevoked,
  'handed-over': t.handedOver,
} as const satisfies Outcomes;

export const listRoleOptions = () => ASSIGNABLE_ROLES.map((role) => [role, ROLES[role]()] as [string, string]);

export const inviteForm = defineForm(
  { prefix: 'invite', schema: InviteRequest },
  {
    email: textField({ label: shared.emailAddress, hint: t.inviteHint, autocomplete: 'off' }),
    role: selectField({ label: t.role, options: listRoleOptions, hint: t.roleHint, isHintAbove: true }),
  },
);

/** Renders the members of the account, and for members who may the invitations with a form to send one. */
export async function renderMembersPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId, member } = requireCaller(ctx);
  const mayManage = mayDo(ctx, 'manageMembers');
  const [account, page, invitations, limits] = await Promise.all([
    getAccount(accountId),
    listMembers(accountId, parsePage(ctx)),
    mayManage ? listInvitations(accountId, parsePage(ctx, INVITATIONS_PAGE)) : null,
    listMemberLimits(accountId),
  ]);
  const shown = { mayManage, own: member?.number, limits };
  const present = page.items.filter(({ removed_at: removedAt }) => removedAt === null);
  const former = page.items.filter(({ removed_at: removedAt }) => removedAt !== null);
  const isRejected = flash.problem !== undefined && ctx.path === MEMBERS_PATH;
  const entered = inviteForm.keep(isRejected ? ctx.state.form : consumeDraft(ctx, account.uuid));
  const children = (
    <>
      <MembersSection id="members" title={names.members()} members={present} {...shown} />
      {former.length === 0 ? null : (
        <MembersSection id="former-members" title={t.former()} members={former} {...shown} />
      )}
      <PageLinks list={page} path={MEMBERS_PATH} />
      {invitations === null ? null : (
        <>
          {invitations.totalItems === 0 ? null : <InvitationsSection invitations={invitations} />}
          <Section id="invite" title={t.invite()}>
            <Form action={MEMBERS_PATH}>
              <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
              <inviteForm.Fields values={entered ?? inviteForm.write({ role: 'developer' })} />
              <button type="submit" class="main">
                {t.sendInvitation()}
              </button>
            </Form>
          </Section>
        </>
      )}
      {mayDo(ctx, 'own') ? null : (
        <Section id="leave" title={t.leave()}>
          <a class="button danger" href={`${MEMBERS_PATH}leave/`}>
            {t.leave()}
          </a>
        </Section>
      )}
    </>
  );
  await sendAccountAreaPage(
    ctx,
    { current: MEMBERS_PATH, heading: names.members(), outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

/** Describes the keys and applications that a member made. */
export const describeAccess = ({ api_keys: keys, applications }: ListedMember): string =>
  t.access({ keys, applications });

interface MembersSectionProps {
  id: string;
  title: string;
  members: readonly ListedMember[];
  mayManage: boolean;
  /** Number of the member who reads the page. */
  own: number | undefined;
  limits: ReadonlyMap<number, SpendingLimitState | null>;
}

function MembersSection({ id, title, members, mayManage, own, limits }: MembersSectionProps): VNode {
  return (
    <Section id={id} title={title}>
      <ul class="rows">
        {members.map((member) => {
          const limit = limits.get(member.number) ?? null;
          const { removed_at: removedAt } = member;
          return (
            <li>
              <div class="what">
                <h3>
                  {member.email} <span class="tag">{ROLES[member.role]()}</span>{' '}
                  {member.number === own ? <span class="tag off">{t.you()}</span> : null}
                </h3>
                <span class="quiet small">
                  {removedAt === null
                    ? t.joined({ date: formatDate(member.created_at) })
                    : t.left({ date: formatDate(removedAt) })}
                  {' · '}
                  {describeAccess(member)}
                </span>
                {limit === null ? null : <p class="small">{describeLimitUse(limit)}</p>}
              </div>
              {mayManage ? (
                <a
                  class="button slight"
                  href={`${MEMBERS_PATH}${member.uuid}/`}
                  aria-label={t.editNamed({ name: member.email })}
                >
                  {shared.edit()}
                </a>
              ) : null}
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

function InvitationsSection({ invitations }: { invitations: ListPage<Invitation> }): VNode {
  return (
    <Section id="invitations" title={t.invitations()}>
      <ul class="rows">
        {invitations.items.map(({ uuid, email, role, expires_at: expiresAt }) => (
          <li>
            <div class="what">
              <h3>
                {email} <span class="tag">{ROLES[role]()}</span>
              </h3>
              <span class="quiet small">{t.expires({ time: formatDateTime(expiresAt) })}</span>
            </div>
            {(['resend', 'revoke'] as const).map((action) => (
              <a
                class={action === 'revoke' ? 'button slight danger' : 'button slight'}
                href={`${MEMBERS_PATH}invitations/${uuid}/${action}/`}
                aria-label={t[`${action}Named`]({ name: email })}
              >
                {t[action]()}
              </a>
            ))}
          </li>
        ))}
      </ul>
      <PageLinks list={invitations} path={MEMBERS_PATH} fragment="invitations" parameter={INVITATIONS_PAGE} />
    </Section>
  );
}

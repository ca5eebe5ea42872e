import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { findMember, formatMember, type ListedMember } from '../../../../shared/domain/members/members.ts';
import { listMemberLimits } from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import { SPENDING_PERIODS } from '../../../../shared/spec/states.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { mayDo, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { defineForm } from '../../../web/components/defineForm.tsx';
import { EditForm, findEntered } from '../../../web/components/editForm.tsx';
import { selectField } from '../../../web/components/formFields.tsx';
import { describeLimitHint, spendingLimitField } from '../../../web/components/spendingLimit.tsx';
import { Section } from '../../../web/components/section.tsx';
import { t as names } from '../../texts.ts';
import { t } from './texts.ts';
import { describeAccess, listRoleOptions, MEMBERS_PATH } from './view.tsx';

/** Form for a member. The role of the owner, and one's own, is not part of it. */
export const memberForm = defineForm(
  { prefix: 'member' },
  {
    role: selectField({ label: t.role, options: listRoleOptions, hint: t.roleHint, isHintAbove: true }),
    credit_limit: spendingLimitField({ periods: SPENDING_PERIODS, isApart: true }),
  },
);

/** Finds the member that the address names. @throws ServiceError not_found */
export const findNamedMember = (ctx: Context): Promise<ListedMember> =>
  findMember(requireCaller(ctx).accountId, parseUuidParam(ctx));

/**
 * Renders the form for a member with the actions on it, after another change with the present values. Of a removed one
 * only what it made can be revoked.
 */
export async function renderMemberPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId, member: own } = requireCaller(ctx);
  const member = await findNamedMember(ctx);
  const { number, uuid, email, role } = member;
  const [{ balance }, limits] = await Promise.all([getAccount(accountId), listMemberLimits(accountId)]);
  const current = limits.get(number) ?? null;
  const former = formatMember(member, current);
  const isPresent = member.removed_at === null;
  const hasFixedRole = role === 'owner' || number === own?.number;
  const path = `${MEMBERS_PATH}${uuid}/`;
  const children = (
    <>
      {isPresent ? (
        <Section id="member" title={email}>
          <EditForm action={path} former={former} back={MEMBERS_PATH}>
            <memberForm.Fields
              values={findEntered(ctx, flash, former) ?? memberForm.write({ role, credit_limit: current })}
              only={hasFixedRole ? ['credit_limit'] : ['role', 'credit_limit']}
              hints={{ credit_limit: describeLimitHint(current, balance) }}
            />
          </EditForm>
        </Section>
      ) : null}
      <Section id="access" title={isPresent ? t.accessTitle() : email}>
        <p>{describeAccess(member)}</p>
        <div class="buttons">
          {member.api_keys + member.applications === 0 ? null : (
            <a class="button danger" href={`${path}revoke-access/`}>
              {t.revokeAccess()}
            </a>
          )}
          {isPresent && !hasFixedRole ? (
            <a class="button danger" href={`${path}remove/`}>
              {t.remove()}
            </a>
          ) : null}
          {isPresent && mayDo(ctx, 'own') && number !== own?.number ? (
            <a class="button danger" href={`${path}hand-over/`}>
              {t.handOver()}
            </a>
          ) : null}
        </div>
      </Section>
    </>
  );
  await sendAccountAreaPage(ctx, { current: MEMBERS_PATH, heading: names.members(), ...flash, children }, status);
}

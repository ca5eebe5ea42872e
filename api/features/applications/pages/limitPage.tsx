import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { type ConnectedApplication, listConnectedApplications } from '../../../../shared/domain/oauth/grants.ts';
import { listApplicationLimits } from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import { formatLimit } from '../../../../shared/presenters/spendingLimit.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { EditForm, findEntered } from '../../../web/components/editForm.tsx';
import { Section } from '../../../web/components/section.tsx';
import { describeLimitHint, limitForm } from '../../../web/components/spendingLimit.tsx';
import { t } from './texts.ts';
import { APPLICATIONS_PATH } from './view.tsx';

export const NOT_CONNECTED = 'This application does not exist or has already been disconnected.';

/** Finds the application that the address names. @throws ServiceError not_found */
export async function findApplication(ctx: Context): Promise<ConnectedApplication> {
  const uuid = parseUuidParam(ctx);
  const applications = await listConnectedApplications(requireCaller(ctx).accountId);
  const application = applications.find((other) => other.uuid === uuid);
  if (application === undefined) throw new ServiceError('not_found', NOT_CONNECTED);
  return application;
}

/** Renders the form for the spending limit of an application, after another change with the present limit. */
export async function renderLimitPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const { uuid, clientId, clientName } = await findApplication(ctx);
  const [{ balance }, limits] = await Promise.all([getAccount(accountId), listApplicationLimits(accountId)]);
  const limit = limits.get(clientId) ?? null;
  const former = formatLimit(limit);
  const children = (
    <Section id="limit" title={clientName}>
      <EditForm action={`${APPLICATIONS_PATH}${uuid}/limit/`} former={former} back={APPLICATIONS_PATH}>
        <limitForm.Fields
          values={findEntered(ctx, flash, former) ?? limitForm.write({ limit })}
          hints={{ limit: describeLimitHint(limit, balance) }}
        />
      </EditForm>
    </Section>
  );
  await sendAccountAreaPage(
    ctx,
    { current: APPLICATIONS_PATH, heading: t.spendingLimit(), ...flash, children },
    status,
  );
}

import { changeApplicationLimit, getOfferedLimit } from '../../../../shared/domain/oauth/applicationLimits.ts';
import {
  type ConnectedApplication,
  disconnectApplication,
  listConnectedApplications,
} from '../../../../shared/domain/oauth/grants.ts';
import { formatLimit } from '../../../../shared/presenters/spendingLimit.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { defineAccountAction } from '../../../web/components/accountAction.tsx';
import { describeError } from '../../../web/components/errorPage.tsx';
import { describeLastUse } from '../../../web/components/formatTime.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { limitForm } from '../../../web/components/spendingLimit.tsx';
import { withRejectedForm } from '../../../web/rejectedForm.ts';
import { FORMER_LIMIT_FIELD, renderLimitPage } from './limitPage.tsx';
import { t } from './texts.ts';
import { APPLICATIONS_PATH, renderApplicationsPage } from './view.tsx';

const NOT_CONNECTED = 'This application does not exist or has already been disconnected.';
const withApplicationErrors = showErrorsOn(renderApplicationsPage);

/** Finds the application that the address names. @throws ServiceError not_found */
async function findApplication(ctx: Context): Promise<ConnectedApplication> {
  const uuid = parseUuidParam(ctx);
  const applications = await listConnectedApplications(requireCaller(ctx).accountId);
  const application = applications.find((other) => other.uuid === uuid);
  if (application === undefined) throw new ServiceError('not_found', NOT_CONNECTED);
  return application;
}

/** Shows the form for the spending limit of an application. */
export const showLimitPage = withApplicationErrors(async (ctx) => {
  const application = await findApplication(ctx);
  const { current } = await getOfferedLimit(requireCaller(ctx).accountId, application.clientId);
  await renderLimitPage(ctx, { application, current, values: limitForm.write({ limit: current }) });
});

export const saveApplicationLimit = withApplicationErrors(async (ctx) => {
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  const form = getForm(ctx);
  const uuid = parseUuidParam(ctx);
  const expected = form.get(FORMER_LIMIT_FIELD) ?? undefined;
  try {
    const { limit } = limitForm.read(form);
    if (limit === undefined) throw new ServiceError('validation_error', 'No spending limit was submitted.');
    const change = { limit, ...(expected === undefined ? {} : { expected }) };
    if (!(await changeApplicationLimit(caller, uuid, change, getRequestOrigin(ctx))))
      throw new ServiceError('not_found', NOT_CONNECTED);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'validation_error') throw error;
    const application = await findApplication(ctx);
    const { current } = await getOfferedLimit(accountId, application.clientId);
    // After another change the present limit is shown.
    const isCurrent = expected === undefined || expected === formatLimit(current);
    const values = isCurrent ? form : limitForm.write({ limit: current });
    const problem = describeError(error.code, error.message);
    const rejection = { path: ctx.path, form, field: error.field, message: problem };
    return withRejectedForm(rejection, () => renderLimitPage(ctx, { application, current, values, problem }));
  }
  seeOther(ctx, `${APPLICATIONS_PATH}?done=limit-saved`);
});

export const disconnect = defineAccountAction({
  withErrors: withApplicationErrors,
  describe: async (ctx) => {
    const { clientName, clientHosts, lastUsedAt } = await findApplication(ctx);
    const consequences = (
      <>
        <p>{t.use({ hosts: clientHosts.join(', '), lastUse: describeLastUse(lastUsedAt) })}</p>
        <p>{t.disconnectEffect()}</p>
      </>
    );
    const question = t.disconnectQuestion({ name: clientName });
    return { question, consequences, button: t.disconnect(), returnPath: APPLICATIONS_PATH };
  },
  perform: async (ctx, { accountId }) => {
    const isEnded = await disconnectApplication(accountId, parseUuidParam(ctx), getRequestOrigin(ctx));
    if (!isEnded) throw new ServiceError('not_found', NOT_CONNECTED);
    return `${APPLICATIONS_PATH}?done=disconnected`;
  },
});

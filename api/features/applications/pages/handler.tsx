import { changeApplicationLimit } from '../../../../shared/domain/oauth/applicationLimits.ts';
import { disconnectApplication } from '../../../../shared/domain/oauth/grants.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { requireCaller } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { readFormerState } from '../../../web/components/editForm.tsx';
import { defineAccountAction } from '../../../web/components/accountAction.tsx';
import { describeLastUse } from '../../../web/components/formatTime.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { limitForm } from '../../../web/components/spendingLimit.tsx';
import { findApplication, NOT_CONNECTED, renderLimitPage } from './limitPage.tsx';
import { t } from './texts.ts';
import { APPLICATIONS_PATH, renderApplicationsPage } from './view.tsx';

const withApplicationErrors = showErrorsOn(renderApplicationsPage);
const withLimitErrors = showErrorsOn(renderLimitPage, withApplicationErrors);

export const showLimitPage = withApplicationErrors(renderLimitPage);

export const saveApplicationLimit = withLimitErrors(async (ctx) => {
  const form = getForm(ctx);
  const { limit } = limitForm.read(form);
  if (limit === undefined) throw new ServiceError('validation_error', 'No spending limit was submitted.');
  const change = { limit, expected: readFormerState(form) };
  if (!(await changeApplicationLimit(requireCaller(ctx), parseUuidParam(ctx), change, getRequestOrigin(ctx))))
    throw new ServiceError('not_found', NOT_CONNECTED);
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

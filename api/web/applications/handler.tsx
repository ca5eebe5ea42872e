import { disconnectApplication, listConnectedApplications } from '../../../shared/domain/oauth/grants.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../context.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../pipeline/requestParameters.ts';
import { sendConfirmationPage } from '../components/confirmationPage.tsx';
import { formatRelativeTime } from '../components/formatTime.ts';
import { showErrorsOn } from '../components/showErrorsOn.ts';
import { APPLICATIONS_PATH, renderApplicationsPage } from './view.tsx';

const NOT_CONNECTED = 'This application does not exist or has already been disconnected.';
const withApplicationErrors = showErrorsOn(renderApplicationsPage);

export async function showApplicationsPage(ctx: Context): Promise<void> {
  await renderApplicationsPage(ctx);
}

/** Asks for confirmation before an application is disconnected. */
export const confirmDisconnectApplication = withApplicationErrors(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const applications = await listConnectedApplications(requireCaller(ctx).accountId);
  const application = applications.find((other) => other.uuid === uuid);
  if (application === undefined) throw new ServiceError('not_found', NOT_CONNECTED);
  const { clientName, clientHosts, lastUsedAt } = application;
  const children = (
    <>
      <p>
        {clientHosts.join(', ')}, {lastUsedAt === null ? 'never used' : `last used ${formatRelativeTime(lastUsedAt)}`}
      </p>
      <p>The application loses access immediately. To use it again, connect it again.</p>
    </>
  );
  sendConfirmationPage(ctx, {
    question: `Disconnect ${clientName}?`,
    children,
    button: 'Disconnect',
    action: `${APPLICATIONS_PATH}${uuid}/end/`,
    cancelPath: APPLICATIONS_PATH,
  });
});

export const disconnectConnectedApplication = withApplicationErrors(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  const isEnded = await disconnectApplication(accountId, parseUuidParam(ctx), getRequestOrigin(ctx));
  if (!isEnded) throw new ServiceError('not_found', NOT_CONNECTED);
  await audit(ctx, 'grant_ended', accountId, { grant: parseUuidParam(ctx) });
  seeOther(ctx, `${APPLICATIONS_PATH}?done=disconnected`);
});

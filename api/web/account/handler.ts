import { saveProfile as saveAccountProfile } from '../../../shared/domain/accounts/onboarding.ts';
import {
  syncPayoutAccount,
  createPayoutOnboardingLink,
  refreshPayoutOnboardingLink,
} from '../../../shared/domain/affiliates/payoutAccounts.ts';
import { enrollAffiliate } from '../../../shared/domain/affiliates/enroll.ts';
import { listActiveApiKeys, createApiKey, revokeApiKey } from '../../../shared/domain/accounts/apiKeys.ts';
import { isPaymentPending } from '../../../shared/domain/billing/billingStatus.ts';
import { executeIdempotent, type SaveResponse } from '../../../shared/domain/platform/idempotentRequests.ts';
import { listConnectedApplications, disconnectApplication } from '../../../shared/domain/oauth/grants.ts';
import { revokeOtherWebSessions, revokeWebSession } from '../../../shared/domain/accounts/sessions.ts';
import { config } from '../../../shared/lib/config.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../context.ts';
import { evictKey } from '../../pipeline/authenticate.ts';
import { readFormIdempotencyKey } from '../../pipeline/idempotency.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { parseUuidParam } from '../../pipeline/requestParameters.ts';
import { endCurrentSession } from '../../pipeline/cookies/sessionCookie.ts';
import { redirectWithFlash, renderAccountPage, withErrorPage } from './render.ts';
import {
  sendDisconnectConfirmation,
  sendEndOtherSessionsConfirmation,
  sendRevokeKeyConfirmation,
} from './confirmations.tsx';
import { isReloadLimitReached, sendPaymentPendingPage } from '../billing/paymentPending.tsx';
import { sendRedirectPage } from '../components/redirectPage.tsx';
import { getForm } from '../../pipeline/body.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { CreateApiKeyRequest } from '../../rest/apiKeys/schemas.ts';
import { ProfileRequest } from '../../rest/session/schemas.ts';

const parseKeyForm = createBodyParser(CreateApiKeyRequest);
const parseProfileForm = createBodyParser(ProfileRequest);

const PROCESSOR_REDIRECT_TEXT = 'You are being redirected to our payment processor.';

export async function showAccountPage(ctx: Context): Promise<void> {
  if (ctx.query['checkout'] !== 'success' || !(await isPaymentPending(requireCaller(ctx).accountId)))
    return renderAccountPage(ctx);
  if (isReloadLimitReached(ctx.query['reloads'])) return renderAccountPage(ctx, { isPaymentPending: true });
  sendPaymentPendingPage(ctx);
}

/** Handles a GET for the address of a form, as when the browser goes back to its response. */
export function redirectToAccountPage(ctx: Context): void {
  seeOther(ctx, '/account/');
}

export const saveProfile = withErrorPage(async (ctx) => {
  const form = getForm(ctx);
  const fields = ['first_name', 'use_case'].filter((name) => form.has(name));
  const profile = parseProfileForm(Object.fromEntries(fields.map((name) => [name, form.get(name)])));
  await saveAccountProfile(requireCaller(ctx).accountId, profile);
  redirectWithFlash(ctx, 'profile');
});

export const createKey = withErrorPage(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  const request = parseKeyForm({ name: getForm(ctx).get('name') ?? undefined });
  const idempotentRequest = { accountId, scope: 'account.key', key: readFormIdempotencyKey(ctx), request };
  // The response to the form contains the key. A redirect to a page with the key could be opened again.
  const { response } = await executeIdempotent(
    idempotentRequest,
    async (_id, saveResponse: SaveResponse<{ name: string; key: string }>) => {
      const created = await createApiKey(accountId, request.name, (transaction, { key, row }) =>
        saveResponse(transaction, { name: row.name, key }),
      );
      await audit(ctx, 'key_created', accountId, { key: created.row.uuid });
      return { name: created.row.name, key: created.key };
    },
  );
  await renderAccountPage(ctx, { newKey: response });
});

export const confirmRevokeKey = withErrorPage(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const key = (await listActiveApiKeys(requireCaller(ctx).accountId)).find((active) => active.uuid === uuid);
  if (key === undefined)
    throw new ServiceError('not_found', 'This API key does not exist or has already been revoked.');
  sendRevokeKeyConfirmation(ctx, key);
});

export const revokeKey = withErrorPage(async (ctx) => {
  evictKey(await revokeApiKey(requireCaller(ctx).accountId, parseUuidParam(ctx)));
  await audit(ctx, 'key_revoked', requireCaller(ctx).accountId, { key: parseUuidParam(ctx) });
  redirectWithFlash(ctx, 'key-revoked');
});

export const confirmDisconnectApplication = withErrorPage(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const application = (await listConnectedApplications(requireCaller(ctx).accountId)).find(
    (other) => other.uuid === uuid,
  );
  if (application === undefined) {
    throw new ServiceError('not_found', 'This application does not exist or has already been disconnected.');
  }
  sendDisconnectConfirmation(ctx, application);
});

export const disconnectConnectedApplication = withErrorPage(async (ctx) => {
  const isEnded = await disconnectApplication(requireCaller(ctx).accountId, parseUuidParam(ctx));
  if (!isEnded)
    throw new ServiceError('not_found', 'This application does not exist or has already been disconnected.');
  await audit(ctx, 'grant_ended', requireCaller(ctx).accountId, { grant: parseUuidParam(ctx) });
  redirectWithFlash(ctx, 'application-ended');
});

export const endOneSession = withErrorPage(async (ctx) => {
  await revokeWebSession(requireCaller(ctx).accountId, parseUuidParam(ctx));
  await audit(ctx, 'session_ended', requireCaller(ctx).accountId, { session: parseUuidParam(ctx) });
  redirectWithFlash(ctx, 'session-ended');
});

export function confirmEndOtherSessions(ctx: Context): void {
  sendEndOtherSessionsConfirmation(ctx);
}

export const endAllOtherSessions = withErrorPage(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  const sessions = await revokeOtherWebSessions(accountId, ctx.state.sessionToken as string);
  await audit(ctx, 'session_ended', accountId, { sessions });
  redirectWithFlash(ctx, 'others-ended');
});

export const becomeAffiliate = withErrorPage(async (ctx) => {
  await enrollAffiliate(requireCaller(ctx).accountId);
  redirectWithFlash(ctx, 'affiliate');
});

/** Sends the affiliate to the onboarding form of the payment processor. */
export const startPayoutSetup = withErrorPage(async (ctx) => {
  const url = await createPayoutOnboardingLink(requireCaller(ctx).accountId);
  // Simulated payments have no onboarding form.
  if (new URL(url).origin === new URL(config.BASE_URL).origin) return redirectWithFlash(ctx, 'payouts');
  sendRedirectPage(ctx, url, PROCESSOR_REDIRECT_TEXT);
});

/** Reopens the onboarding form after its link has expired. Other sites may link here, so it creates no account. */
export const restartPayoutSetup = withErrorPage(async (ctx) => {
  const url = await refreshPayoutOnboardingLink(requireCaller(ctx).accountId);
  if (url === null) return seeOther(ctx, '/account/');
  sendRedirectPage(ctx, url, PROCESSOR_REDIRECT_TEXT);
});

/** Handles the return from the onboarding form, and syncs the payout account at once. */
export const completePayoutSetup = withErrorPage(async (ctx) => {
  await syncPayoutAccount(requireCaller(ctx).accountId);
  redirectWithFlash(ctx, 'payouts');
});

export async function signOut(ctx: Context): Promise<void> {
  await endCurrentSession(ctx);
  seeOther(ctx, '/sign-in?done=signed-out');
}

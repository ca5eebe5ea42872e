import { getAccount, saveProfile as saveProfileOf } from '../../../shared/domain/accounts/accounts.ts';
import { getReferralClickCount } from '../../../shared/domain/affiliates/referralClicks.ts';
import {
  syncPayoutAccount,
  createPayoutOnboardingLink,
  refreshPayoutOnboardingLink,
} from '../../../shared/domain/affiliates/payoutAccounts.ts';
import { enrollAffiliate } from '../../../shared/domain/affiliates/enroll.ts';
import { getAffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import { listActiveApiKeys, createApiKey, revokeApiKey } from '../../../shared/domain/accounts/apiKeys.ts';
import { startPlanCheckout, isPaymentPending, openCustomerPortal } from '../../../shared/domain/billing/checkout.ts';
import { listIdentities } from '../../../shared/domain/accounts/identities.ts';
import { executeIdempotent, type SaveResponse } from '../../../shared/domain/platform/idempotentRequests.ts';
import { listConnectedApplications, disconnectApplication } from '../../../shared/domain/oauth/grants.ts';
import {
  revokeOtherWebSessions,
  revokeWebSession,
  listActiveSessions,
} from '../../../shared/domain/accounts/sessions.ts';
import { isStaff } from '../../../shared/domain/accounts/staff.ts';
import { getBillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import { config } from '../../../shared/lib/config.ts';
import { createBodyParser } from '../../../shared/lib/validate.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../context.ts';
import { evictKey } from '../../pipeline/authenticate.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { getForm } from '../../pipeline/body.ts';
import { parseUuidParam } from '../../pipeline/requestParameters.ts';
import { endCurrentSession } from '../../pipeline/cookies/sessionCookie.ts';
import type { AccountOverview } from './overview.ts';
import { type FlashCode, type Flash, sendAccountPage } from './view.tsx';
import {
  sendDisconnectConfirmation,
  sendEndOtherSessionsConfirmation,
  sendRevokeKeyConfirmation,
} from './confirmations.tsx';
import { isReloadLimitReached, sendPaymentPendingPage } from './paymentPending.tsx';
import { sendRedirectPage } from '../components/redirectPage.tsx';
import { getErrorStatus } from '../../pipeline/httpError.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { CreateApiKeyRequest } from '../../rest/apiKeys/schemas.ts';
import { CheckoutRequest } from '../../rest/billing/schemas.ts';
import { ProfileRequest } from '../../rest/session/schemas.ts';

const parsePlanForm = createBodyParser(CheckoutRequest);
const parseKeyForm = createBodyParser(CreateApiKeyRequest);
const parseProfileForm = createBodyParser(ProfileRequest);

const PROCESSOR_REDIRECT_TEXT = 'You are being taken to the page of our payment processor.';

export async function showAccountPage(ctx: Context): Promise<void> {
  if (ctx.query['checkout'] !== 'success' || !(await isPaymentPending(requireCaller(ctx).accountId)))
    return renderAccountPage(ctx);
  if (isReloadLimitReached(ctx.query['reloads'])) return renderAccountPage(ctx, { isPaymentPending: true });
  sendPaymentPendingPage(ctx);
}

/** A form's address that is opened like a page, as when a browser goes back to the answer to one. */
export function redirectToAccountPage(ctx: Context): void {
  seeOther(ctx, '/account/');
}

export const choosePlan = withErrorPage(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  const { plan } = parsePlanForm({ plan: getForm(ctx).get('plan') ?? undefined });
  const repeatable = { accountId, scope: 'account.plan', key: readFormIdempotencyKey(ctx), request: { plan } };
  const { answer } = await executeIdempotent(repeatable, async (id) => ({
    url: await startPlanCheckout(accountId, plan, id),
  }));
  if (answer.url === null) return redirectWithFlash(ctx, 'plan');
  sendRedirectPage(ctx, answer.url, PROCESSOR_REDIRECT_TEXT);
});

export const openBillingPortal = withErrorPage(async (ctx) => {
  const url = await openCustomerPortal(requireCaller(ctx).accountId);
  if (url === null) throw new ServiceError('validation_error', 'There is no payment processor here, and so no portal.');
  sendRedirectPage(ctx, url, PROCESSOR_REDIRECT_TEXT);
});

export const saveProfile = withErrorPage(async (ctx) => {
  const form = getForm(ctx);
  const fields = ['first_name', 'use_case'].filter((name) => form.has(name));
  const profile = parseProfileForm(Object.fromEntries(fields.map((name) => [name, form.get(name)])));
  await saveProfileOf(requireCaller(ctx).accountId, profile);
  redirectWithFlash(ctx, 'profile');
});

export const createKey = withErrorPage(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  const request = parseKeyForm({ name: getForm(ctx).get('name') ?? undefined });
  const repeatable = { accountId, scope: 'account.key', key: readFormIdempotencyKey(ctx), request };
  // Shown by the answer to the form itself: an address that shows it could be opened again.
  const { answer } = await executeIdempotent(
    repeatable,
    async (_id, remember: SaveResponse<{ name: string; key: string }>) => {
      const created = await createApiKey(accountId, request.name, (transaction, { key, row }) =>
        remember(transaction, { name: row.name, key }),
      );
      await audit(ctx, 'key_created', accountId, { key: created.row.uuid });
      return { name: created.row.name, key: created.key };
    },
  );
  await renderAccountPage(ctx, { newKey: answer });
});

export const confirmRevokeKey = withErrorPage(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const key = (await listActiveApiKeys(requireCaller(ctx).accountId)).find((active) => active.uuid === uuid);
  if (key === undefined) throw new ServiceError('not_found', 'This API key does not exist or was revoked already.');
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
    throw new ServiceError('not_found', 'This application does not exist or was disconnected already.');
  }
  sendDisconnectConfirmation(ctx, application);
});

export const disconnectConnectedApplication = withErrorPage(async (ctx) => {
  const isEnded = await disconnectApplication(requireCaller(ctx).accountId, parseUuidParam(ctx));
  if (!isEnded) throw new ServiceError('not_found', 'This application does not exist or was disconnected already.');
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

/** To where the payment processor asks for a person's details. */
export const startPayoutSetup = withErrorPage(async (ctx) => {
  const url = await createPayoutOnboardingLink(requireCaller(ctx).accountId);
  // Where payments are simulated there is nothing to be told.
  if (new URL(url).origin === new URL(config.BASE_URL).origin) return redirectWithFlash(ctx, 'payouts');
  sendRedirectPage(ctx, url, PROCESSOR_REDIRECT_TEXT);
});

/** To there again, when its page was too old: any site may send people here, and nothing is made for it. */
export const restartPayoutSetup = withErrorPage(async (ctx) => {
  const url = await refreshPayoutOnboardingLink(requireCaller(ctx).accountId);
  if (url === null) return seeOther(ctx, '/account/');
  sendRedirectPage(ctx, url, PROCESSOR_REDIRECT_TEXT);
});

/** Back from there: what came of it is looked at right now. */
export const completePayoutSetup = withErrorPage(async (ctx) => {
  await syncPayoutAccount(requireCaller(ctx).accountId);
  redirectWithFlash(ctx, 'payouts');
});

export async function signOut(ctx: Context): Promise<void> {
  await endCurrentSession(ctx);
  seeOther(ctx, '/sign-in?done=signed-out');
}

async function renderAccountPage(ctx: Context, flash: Flash = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [account, billing, identities, keys, applications, sessions] = await Promise.all([
    getAccount(accountId),
    getBillingStatus(accountId),
    listIdentities(accountId),
    listActiveApiKeys(accountId),
    listConnectedApplications(accountId),
    listActiveSessions(accountId, ctx.state.sessionToken as string),
  ]);
  const affiliate = account.is_affiliate
    ? { ...(await getAffiliateOverview(accountId)), clicks: await getReferralClickCount(accountId) }
    : null;
  const isStaffSession = await isStaff(account, requireCaller(ctx), ctx.state.sessionToken);
  const overview: AccountOverview = {
    account,
    isStaff: isStaffSession,
    billing,
    identities,
    keys,
    applications,
    sessions,
    affiliate,
  };
  sendAccountPage(ctx, overview, flash, status);
}

function redirectWithFlash(ctx: Context, code: FlashCode): void {
  seeOther(ctx, `/account/?done=${code}`);
}

/** Tells what a form was refused for on the page that it was on. */
export function withErrorPage(handler: (ctx: Context) => Promise<void>): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    try {
      await handler(ctx);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      await renderAccountPage(ctx, { problem: toUserMessage(error) }, getErrorStatus(error));
    }
  };
}

/** Rewrites a detail for people: drops a leading `field: `, and writes the name of a field as words. */
function toUserMessage({ message, field = '' }: ServiceError): string {
  const rest = message.slice(field.length);
  const sentence = rest.startsWith(': ') ? rest.slice(2) : field.replaceAll('_', ' ') + rest;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** Under which a form may be sent again without being carried out again. */
function readFormIdempotencyKey(ctx: Context): string | null {
  const key = getForm(ctx).get('request') ?? '';
  return /^[0-9a-f-]{36}$/.test(key) ? key : null;
}

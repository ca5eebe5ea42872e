import { accountById, saveProfile as saveProfileOf } from '../../shared/domain/accounts.ts';
import { clicksOf } from '../../shared/domain/affiliates/clicks.ts';
import { lookAtConnectAccount, onboardingLink, reopenOnboarding } from '../../shared/domain/affiliates/connect.ts';
import { enroll } from '../../shared/domain/affiliates/enroll.ts';
import { affiliateStatus } from '../../shared/domain/affiliates/status.ts';
import { activeApiKeys, createApiKey, revokeApiKey } from '../../shared/domain/apiKeys.ts';
import { checkout, isPaymentPending, portal } from '../../shared/domain/billing/checkout.ts';
import { identitiesOf } from '../../shared/domain/identities.ts';
import { once, type Remember } from '../../shared/domain/idempotentRequests.ts';
import { connectedApplications, endApplication } from '../../shared/domain/oauth/grants.ts';
import { endOtherSessions, endSession, openSessions } from '../../shared/domain/sessions.ts';
import { isStaff } from '../../shared/domain/staff.ts';
import { billingStatus } from '../../shared/domain/subscriptions.ts';
import { config } from '../../shared/lib/config.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { callerOf, type Context } from '../context.ts';
import { forgetKey } from '../middleware/authenticate.ts';
import { audit } from '../middleware/audit.ts';
import { uuidOf } from '../middleware/query.ts';
import { endOwnSession } from '../middleware/sessionCookie.ts';
import type { Overview } from '../pages/account/overview.ts';
import { type Done, type News, sendAccountPage } from '../pages/account/page.tsx';
import {
  sendEndApplicationQuestion,
  sendEndOtherSessionsQuestion,
  sendRevokeKeyQuestion,
} from '../pages/account/questions.tsx';
import { hasWaitedLong, sendWaitingPage } from '../pages/account/waiting.tsx';
import { sendOnward } from '../pages/onward.tsx';
import { formOf, seeOther } from '../pages/serve.ts';
import { Checkout, CreateApiKey, Profile } from '../schemas.ts';

const parsePlan = bodyParser(Checkout);
const parseKey = bodyParser(CreateApiKey);
const parseProfile = bodyParser(Profile);

const ONWARD = 'You are being taken to the page of our payment processor.';

export async function accountPage(ctx: Context): Promise<void> {
  if (ctx.query['checkout'] !== 'success' || !(await isPaymentPending(callerOf(ctx).accountId))) return show(ctx);
  if (hasWaitedLong(ctx.query['reloads'])) return show(ctx, { isPaymentPending: true });
  sendWaitingPage(ctx);
}

/** A form's address that is opened like a page, as when a browser goes back to the answer to one. */
export function toAccountPage(ctx: Context): void {
  seeOther(ctx, '/account/');
}

export const choosePlan = orTold(async (ctx) => {
  const { accountId } = callerOf(ctx);
  const { plan } = parsePlan({ plan: formOf(ctx).get('plan') ?? undefined });
  const repeatable = { accountId, scope: 'account.plan', key: requestKeyOf(ctx), request: { plan } };
  const { answer } = await once(repeatable, async (id) => ({ url: await checkout(accountId, plan, id) }));
  if (answer.url === null) return done(ctx, 'plan');
  sendOnward(ctx, answer.url, ONWARD);
});

export const openBillingPortal = orTold(async (ctx) => {
  const url = await portal(callerOf(ctx).accountId);
  if (url === null) throw new ServiceError('validation_error', 'There is no payment processor here, and so no portal.');
  sendOnward(ctx, url, ONWARD);
});

export const saveProfile = orTold(async (ctx) => {
  const form = formOf(ctx);
  const fields = ['first_name', 'use_case'].filter((name) => form.has(name));
  const profile = parseProfile(Object.fromEntries(fields.map((name) => [name, form.get(name)])));
  await saveProfileOf(callerOf(ctx).accountId, profile);
  done(ctx, 'profile');
});

export const createKey = orTold(async (ctx) => {
  const { accountId } = callerOf(ctx);
  const request = parseKey({ name: formOf(ctx).get('name') ?? undefined });
  const repeatable = { accountId, scope: 'account.key', key: requestKeyOf(ctx), request };
  // Shown by the answer to the form itself: an address that shows it could be opened again.
  const { answer } = await once(repeatable, async (_id, remember: Remember<{ name: string; key: string }>) => {
    const created = await createApiKey(accountId, request.name, (transaction, { key, row }) =>
      remember(transaction, { name: row.name, key }),
    );
    await audit(ctx, 'key_created', accountId, { key: created.row.uuid });
    return { name: created.row.name, key: created.key };
  });
  await show(ctx, { newKey: answer });
});

export const confirmRevokeKey = orTold(async (ctx) => {
  const uuid = uuidOf(ctx);
  const key = (await activeApiKeys(callerOf(ctx).accountId)).find((active) => active.uuid === uuid);
  if (key === undefined) throw new ServiceError('not_found', 'This API key does not exist or was revoked already.');
  sendRevokeKeyQuestion(ctx, key);
});

export const revokeKey = orTold(async (ctx) => {
  forgetKey(await revokeApiKey(callerOf(ctx).accountId, uuidOf(ctx)));
  await audit(ctx, 'key_revoked', callerOf(ctx).accountId, { key: uuidOf(ctx) });
  done(ctx, 'key-revoked');
});

export const confirmEndApplication = orTold(async (ctx) => {
  const uuid = uuidOf(ctx);
  const application = (await connectedApplications(callerOf(ctx).accountId)).find((other) => other.uuid === uuid);
  if (application === undefined) {
    throw new ServiceError('not_found', 'This application does not exist or was disconnected already.');
  }
  sendEndApplicationQuestion(ctx, application);
});

export const endConnectedApplication = orTold(async (ctx) => {
  const isEnded = await endApplication(callerOf(ctx).accountId, uuidOf(ctx));
  if (!isEnded) throw new ServiceError('not_found', 'This application does not exist or was disconnected already.');
  await audit(ctx, 'grant_ended', callerOf(ctx).accountId, { grant: uuidOf(ctx) });
  done(ctx, 'application-ended');
});

export const endOneSession = orTold(async (ctx) => {
  await endSession(callerOf(ctx).accountId, uuidOf(ctx));
  await audit(ctx, 'session_ended', callerOf(ctx).accountId, { session: uuidOf(ctx) });
  done(ctx, 'session-ended');
});

export function confirmEndOtherSessions(ctx: Context): void {
  sendEndOtherSessionsQuestion(ctx);
}

export const endAllOtherSessions = orTold(async (ctx) => {
  const { accountId } = callerOf(ctx);
  const sessions = await endOtherSessions(accountId, ctx.state.sessionToken as string);
  await audit(ctx, 'session_ended', accountId, { sessions });
  done(ctx, 'others-ended');
});

export const becomeAffiliate = orTold(async (ctx) => {
  await enroll(callerOf(ctx).accountId);
  done(ctx, 'affiliate');
});

/** To where the payment processor asks for a person's details. */
export const setUpPayouts = orTold(async (ctx) => {
  const url = await onboardingLink(callerOf(ctx).accountId);
  // Where payments are simulated there is nothing to be told.
  if (new URL(url).origin === new URL(config.BASE_URL).origin) return done(ctx, 'payouts');
  sendOnward(ctx, url, ONWARD);
});

/** To there again, when its page was too old: any site may send people here, and nothing is made for it. */
export const setUpPayoutsAgain = orTold(async (ctx) => {
  const url = await reopenOnboarding(callerOf(ctx).accountId);
  if (url === null) return seeOther(ctx, '/account/');
  sendOnward(ctx, url, ONWARD);
});

/** Back from there: what came of it is looked at right now. */
export const backFromPayouts = orTold(async (ctx) => {
  await lookAtConnectAccount(callerOf(ctx).accountId);
  done(ctx, 'payouts');
});

export async function signOut(ctx: Context): Promise<void> {
  await endOwnSession(ctx);
  seeOther(ctx, '/sign-in?done=signed-out');
}

async function show(ctx: Context, news: News = {}, status = 200): Promise<void> {
  const { accountId } = callerOf(ctx);
  const [account, billing, identities, keys, applications, sessions] = await Promise.all([
    accountById(accountId),
    billingStatus(accountId),
    identitiesOf(accountId),
    activeApiKeys(accountId),
    connectedApplications(accountId),
    openSessions(accountId, ctx.state.sessionToken as string),
  ]);
  const affiliate = account.is_affiliate
    ? { ...(await affiliateStatus(accountId)), clicks: await clicksOf(accountId) }
    : null;
  const isStaffSession = await isStaff(account, callerOf(ctx), ctx.state.sessionToken);
  const overview: Overview = {
    account,
    isStaff: isStaffSession,
    billing,
    identities,
    keys,
    applications,
    sessions,
    affiliate,
  };
  sendAccountPage(ctx, overview, news, status);
}

function done(ctx: Context, what: Done): void {
  seeOther(ctx, `/account/?done=${what}`);
}

/** Tells what a form was refused for on the page that it was on. */
export function orTold(handler: (ctx: Context) => Promise<void>): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    try {
      await handler(ctx);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      await show(ctx, { problem: asSentence(error.message) }, error.status);
    }
  };
}

/** What is said to programs begins with the name of a field, which no person has seen. */
function asSentence(detail: string): string {
  const sentence = detail.replace(/^\w+: /, '').replace(/^[a-z]+(_[a-z]+)+\b/, (name) => name.replaceAll('_', ' '));
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** Under which a form may be sent again without being carried out again. */
function requestKeyOf(ctx: Context): string | null {
  const key = formOf(ctx).get('request') ?? '';
  return /^[0-9a-f-]{36}$/.test(key) ? key : null;
}

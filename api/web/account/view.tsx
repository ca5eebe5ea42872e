import { v4 as uuidv4 } from 'uuid';
import type { Context } from '../../context.ts';
import { consumeDraft } from '../../pipeline/cookies/draftCookie.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { sendPage } from '../components/layout.tsx';
import { Notice } from '../components/form.tsx';
import { AffiliateSection } from './affiliate.tsx';
import { ApplicationsSection } from './applications.tsx';
import { SessionsSection } from './sessions.tsx';
import { CreditsSection } from './credits.tsx';
import { GettingStarted } from './gettingStarted.tsx';
import { ApiKeysSection, CreatedKeyNotice } from './apiKeys.tsx';
import type { AccountOverview } from './overview.ts';
import { ProfileSection } from './profile.tsx';
import { describeLinkProblem, SignInMethodsSection } from './signInMethods.tsx';

/** Outcome of an action: the title of the page, and a sentence. */
type FlashText = readonly [title: string, sentence: string];

/** Outcomes by the code in the `done` parameter of the URL. */
const FLASH_TEXTS = {
  profile: ['Profile saved', 'Profile saved.'],
  'key-revoked': ['API key revoked', 'The API key is revoked. Requests with it are now rejected.'],
  'application-ended': ['Application disconnected', 'The application is disconnected and no longer has access.'],
  'session-ended': ['Session ended', 'The session is signed out.'],
  affiliate: ['Affiliate link created', 'You are now an affiliate. Your link is below.'],
  payouts: ['Payout details submitted', 'Thank you. Payouts start after your details have been verified.'],
  'identity-linked': ['Sign-in method linked', 'The sign-in method is linked. You can now sign in with it.'],
  'identity-removed': ['Sign-in method removed', 'The sign-in method is removed.'],
  'others-ended': ['Other sessions ended', 'All other sessions are signed out.'],
} as const satisfies Record<string, FlashText>;

const CHECKOUT_FLASH_TEXTS = {
  success: ['Checkout completed', 'Thank you. Your plan and credits are updated when the payment is confirmed.'],
  canceled: ['Checkout canceled', 'Checkout canceled. You were not charged.'],
} as const satisfies Record<string, FlashText>;

const PAYMENT_PENDING_TEXT: FlashText = [
  'Payment not confirmed yet',
  'Your payment is not confirmed yet. Some payment methods take a few days, so please do not pay again. Your plan or credits are added when the payment arrives.',
];

export type FlashCode = keyof typeof FLASH_TEXTS;

/** Message at the top of the page. */
export interface Flash {
  /** Error message. */
  problem?: string;
  newKey?: { name: string; key: string };
  /** True after a payment has been unconfirmed for some minutes. */
  isPaymentPending?: boolean;
}

/** Sends the account page. */
export function sendAccountPage(ctx: Context, overview: AccountOverview, flash: Flash = {}, status = 200): void {
  const formContext = {
    csrfToken: createCsrfToken(ctx),
    idempotencyKey: uuidv4(),
    draft: consumeDraft(ctx, overview.account.uuid),
  };
  const { account } = overview;
  const flashText = flash.isPaymentPending === true ? PAYMENT_PENDING_TEXT : readFlashText(ctx);
  const problem = flash.problem ?? describeLinkProblem(ctx.query['link_problem'], ctx.query['provider']);
  const body = (
    <>
      <h1>{account.first_name === '' ? 'Account' : `Hello, ${account.first_name}`}</h1>
      <p class="quiet">
        Signed in as {account.email}
        {overview.isStaff ? (
          <>
            . <a href="/admin/">Admin dashboard</a>
          </>
        ) : null}
      </p>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      {flash.newKey === undefined ? null : <CreatedKeyNotice name={flash.newKey.name} text={flash.newKey.key} />}
      {flashText === undefined || hasPriorityFlash(flash) ? null : <Notice kind="good">{flashText[1]}</Notice>}
      <GettingStarted {...overview} />
      <CreditsSection {...overview} />
      <ApiKeysSection {...overview} formContext={formContext} />
      <ApplicationsSection {...overview} />
      <SignInMethodsSection {...overview} formContext={formContext} />
      <SessionsSection {...overview} formContext={formContext} />
      <AffiliateSection {...overview} formContext={formContext} />
      <ProfileSection {...overview} formContext={formContext} />
    </>
  );
  const navigation = { current: '/account/', csrfToken: formContext.csrfToken } as const;
  sendPage(ctx, { title: getPageTitle(flash, flashText), body, account: navigation }, status);
}

function hasPriorityFlash({ problem, newKey }: Flash): boolean {
  return problem !== undefined || newKey !== undefined;
}

/** Returns the outcome as the title: screen readers read the title of a page first. */
function getPageTitle({ problem, newKey }: Flash, flashText: FlashText | undefined): string {
  if (problem !== undefined) return 'Error: Account';
  if (newKey !== undefined) return 'API key created';
  return flashText?.[0] ?? 'Account';
}

function readFlashText(ctx: Context): FlashText | undefined {
  return findFlashText(FLASH_TEXTS, ctx.query['done']) ?? findFlashText(CHECKOUT_FLASH_TEXTS, ctx.query['checkout']);
}

function findFlashText(outcomes: Record<string, FlashText>, code: unknown): FlashText | undefined {
  return typeof code === 'string' && Object.hasOwn(outcomes, code) ? outcomes[code] : undefined;
}

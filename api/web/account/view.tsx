import { v4 as uuidv4 } from 'uuid';
import type { Context } from '../../context.ts';
import { consumeDraft } from '../../pipeline/cookies/draftCookie.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { sendPage } from '../components/layout.tsx';
import { Notice } from '../components/form.tsx';
import { AffiliateSection } from './affiliate.tsx';
import { ApplicationsSection, SessionsSection } from './sessions.tsx';
import { BillingSection } from './billing.tsx';
import { ApiKeysSection, CreatedKeyNotice } from './apiKeys.tsx';
import type { AccountOverview } from './overview.ts';
import { ProfileSection } from './profile.tsx';
import { describeLinkProblem, SignInMethodsSection } from './signInMethods.tsx';

/** An outcome: for the title of the page, and as a sentence. */
type FlashText = readonly [title: string, sentence: string];

/** What has just happened, as the page's address names it. */
const FLASH_TEXTS = {
  plan: ['Plan active', 'Your plan is active.'],
  profile: ['Profile saved', 'Profile saved.'],
  'key-revoked': ['API key revoked', 'The API key is revoked. Requests that use it are refused from now on.'],
  'application-ended': ['Application disconnected', 'The application is disconnected and has no access any more.'],
  'session-ended': ['Session ended', 'That session has ended.'],
  affiliate: ['Affiliate link created', 'You are an affiliate. Your link is below.'],
  payouts: ['Payout details sent', 'Thank you. Payouts start when your details have been checked.'],
  'identity-linked': [
    'Sign-in method linked',
    'The sign-in method is linked. You can sign in to this account with it.',
  ],
  'identity-removed': ['Sign-in method removed', 'The sign-in method is removed.'],
  'others-ended': ['Signed out elsewhere', 'You are signed out everywhere but here.'],
} as const satisfies Record<string, FlashText>;

const CHECKOUT_FLASH_TEXTS = {
  success: [
    'Checkout completed',
    'Thank you. Your plan and your credits are up to date once the payment is confirmed.',
  ],
  canceled: ['Checkout canceled', 'You left the checkout; nothing was charged.'],
} as const satisfies Record<string, FlashText>;

const PAYMENT_PENDING_TEXT: FlashText = [
  'Payment not confirmed yet',
  'Your payment is not confirmed yet. Some ways to pay take a few days; do not pay again until then. Your plan or your credits are added when the payment arrives.',
];

export type FlashCode = keyof typeof FLASH_TEXTS;

/** What the page says above everything else. */
export interface Flash {
  /** What went wrong, as a sentence. */
  problem?: string;
  newKey?: { name: string; key: string };
  /** A payment that was made has not been confirmed for some minutes. */
  isPaymentPending?: boolean;
}

/** The account's page. */
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
      <h1>{account.first_name === '' ? 'Your account' : `Hello ${account.first_name}`}</h1>
      <p class="quiet">
        Signed in as {account.email}
        {overview.isStaff ? (
          <>
            . <a href="/admin/">The service</a>
          </>
        ) : null}
      </p>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      {flash.newKey === undefined ? null : <CreatedKeyNotice name={flash.newKey.name} text={flash.newKey.key} />}
      {flashText === undefined || hasPriorityFlash(flash) ? null : <Notice kind="good">{flashText[1]}</Notice>}
      <BillingSection {...overview} secrets={formContext} />
      <ApiKeysSection {...overview} secrets={formContext} />
      <ApplicationsSection {...overview} />
      <SignInMethodsSection {...overview} secrets={formContext} />
      <SessionsSection {...overview} secrets={formContext} />
      <AffiliateSection {...overview} secrets={formContext} />
      <ProfileSection {...overview} secrets={formContext} />
    </>
  );
  sendPage(ctx, { title: getPageTitle(flash, flashText), body }, status);
}

function hasPriorityFlash({ problem, newKey }: Flash): boolean {
  return problem !== undefined || newKey !== undefined;
}

/** The outcome comes first: screen readers read the title of a page before anything else on it. */
function getPageTitle({ problem, newKey }: Flash, flashText: FlashText | undefined): string {
  if (problem !== undefined) return 'Error: Your account';
  if (newKey !== undefined) return 'API key created';
  return flashText?.[0] ?? 'Your account';
}

function readFlashText(ctx: Context): FlashText | undefined {
  return findFlashText(FLASH_TEXTS, ctx.query['done']) ?? findFlashText(CHECKOUT_FLASH_TEXTS, ctx.query['checkout']);
}

function findFlashText(outcomes: Record<string, FlashText>, word: unknown): FlashText | undefined {
  return typeof word === 'string' && Object.hasOwn(outcomes, word) ? outcomes[word] : undefined;
}

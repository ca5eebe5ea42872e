import { v4 as uuidv4 } from 'uuid';
import type { Context } from '../../context.ts';
import { takeDraft } from '../../middleware/draftCookie.ts';
import { formToken } from '../forms.ts';
import { sendPage } from '../page.tsx';
import { Notice } from '../parts.tsx';
import { Affiliate } from './affiliate.tsx';
import { Applications, Sessions } from './access.tsx';
import { Billing } from './billing.tsx';
import { Keys, NewKey } from './keys.tsx';
import type { Overview } from './overview.ts';
import { Person } from './person.tsx';
import { linkProblem, SignInMethods } from './signInMethods.tsx';

/** An outcome: for the title of the page, and as a sentence. */
type Outcome = readonly [title: string, sentence: string];

/** What has just happened, as the page's address names it. */
const DONE = {
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
} as const satisfies Record<string, Outcome>;

const CHECKOUT = {
  success: [
    'Checkout completed',
    'Thank you. Your plan and your credits are up to date once the payment is confirmed.',
  ],
  canceled: ['Checkout canceled', 'You left the checkout; nothing was charged.'],
} as const satisfies Record<string, Outcome>;

const PAYMENT_PENDING: Outcome = [
  'Payment not confirmed yet',
  'Your payment is not confirmed yet. Some ways to pay take a few days; do not pay again until then. Your plan or your credits are added when the payment arrives.',
];

export type Done = keyof typeof DONE;

/** What the page says above everything else. */
export interface News {
  /** What went wrong, as a sentence. */
  problem?: string;
  newKey?: { name: string; key: string };
  /** A payment that was made has not been confirmed for some minutes. */
  isPaymentPending?: boolean;
}

/** The account's page. */
export function sendAccountPage(ctx: Context, overview: Overview, news: News = {}, status = 200): void {
  const secrets = { token: formToken(ctx), requestKey: uuidv4(), draft: takeDraft(ctx, overview.account.uuid) };
  const { account } = overview;
  const good = news.isPaymentPending === true ? PAYMENT_PENDING : outcomeIn(ctx);
  const problem = news.problem ?? linkProblem(ctx.query['link_problem'], ctx.query['provider']);
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
      {news.newKey === undefined ? null : <NewKey name={news.newKey.name} text={news.newKey.key} />}
      {good === undefined || hasOtherNews(news) ? null : <Notice kind="good">{good[1]}</Notice>}
      <Billing {...overview} secrets={secrets} />
      <Keys {...overview} secrets={secrets} />
      <Applications {...overview} />
      <SignInMethods {...overview} secrets={secrets} />
      <Sessions {...overview} secrets={secrets} />
      <Affiliate {...overview} secrets={secrets} />
      <Person {...overview} secrets={secrets} />
    </>
  );
  sendPage(ctx, { title: titleOf(news, good), body }, status);
}

function hasOtherNews({ problem, newKey }: News): boolean {
  return problem !== undefined || newKey !== undefined;
}

/** The outcome comes first: screen readers read the title of a page before anything else on it. */
function titleOf({ problem, newKey }: News, good: Outcome | undefined): string {
  if (problem !== undefined) return 'Error: Your account';
  if (newKey !== undefined) return 'API key created';
  return good?.[0] ?? 'Your account';
}

function outcomeIn(ctx: Context): Outcome | undefined {
  return outcomeNamed(DONE, ctx.query['done']) ?? outcomeNamed(CHECKOUT, ctx.query['checkout']);
}

function outcomeNamed(outcomes: Record<string, Outcome>, word: unknown): Outcome | undefined {
  return typeof word === 'string' && Object.hasOwn(outcomes, word) ? outcomes[word] : undefined;
}

import { v4 as uuidv4 } from 'uuid';
import type { Context } from '../../context.ts';
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

/** What has just happened, as the page's address names it. */
const DONE = {
  plan: 'Your plan is active.',
  profile: 'Saved.',
  'key-revoked': 'The key is revoked: it is refused from now on.',
  'application-ended': 'The application is disconnected: it can do nothing in your account any more.',
  'session-ended': 'That session has ended.',
  affiliate: 'You are an affiliate. Your link is below.',
  payouts: 'Thank you. Payouts are made from the moment that your details are checked.',
  'identity-linked': 'The sign-in method is linked: it signs in to this account from now on.',
  'identity-removed': 'The sign-in method is removed.',
  'others-ended': 'You are signed out everywhere but here.',
} as const;

const CHECKOUT = {
  success: 'Thank you. Your plan or your credits are here as soon as the payment is through, which can take a minute.',
  canceled: 'You left the checkout; nothing was charged.',
} as const;

export type Done = keyof typeof DONE;

/** What the page says above everything else. */
export interface News {
  /** What went wrong, as a sentence. */
  problem?: string;
  newKey?: { name: string; key: string };
}

/** The account's page. */
export function sendAccountPage(ctx: Context, overview: Overview, news: News = {}, status = 200): void {
  const secrets = { token: formToken(ctx), requestKey: uuidv4() };
  const { account } = overview;
  const good = sentenceFor(DONE, ctx.query['done']) ?? sentenceFor(CHECKOUT, ctx.query['checkout']);
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
      {good === undefined ? null : <Notice kind="good">{good}</Notice>}
      <Billing {...overview} secrets={secrets} />
      <Keys {...overview} secrets={secrets} />
      <Applications {...overview} secrets={secrets} />
      <SignInMethods {...overview} secrets={secrets} />
      <Sessions {...overview} secrets={secrets} />
      <Affiliate {...overview} secrets={secrets} />
      <Person {...overview} secrets={secrets} />
    </>
  );
  sendPage(ctx, { title: 'Your account', body }, status);
}

function sentenceFor(sentences: Record<string, string>, word: unknown): string | undefined {
  return typeof word === 'string' && Object.hasOwn(sentences, word) ? sentences[word] : undefined;
}

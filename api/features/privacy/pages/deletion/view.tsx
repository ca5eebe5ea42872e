import type { VNode } from 'preact';
import {
  DELETION_UNDO_DAYS,
  findRequestedDeletion,
  isDeletionRequested,
  type RequestedDeletion,
} from '../../../../../shared/domain/privacy/deletion.ts';
import { type DeletionSummary, summarizeDeletion } from '../../../../../shared/domain/privacy/deletionSummary.ts';
import { isSignInRecent } from '../../../../../shared/domain/signIn/recentSignIn.ts';
import { EMAIL_MAX_CHARACTERS } from '../../../../../shared/lib/email.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { createCsrfToken } from '../../../../pipeline/csrf.ts';
import { consumeOutcome } from '../../../../pipeline/cookies/outcomeCookie.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { Form, Notice } from '../../../../web/components/form.tsx';
import { formatCount, formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatDate, formatDateTime } from '../../../../web/components/formatTime.ts';
import { sendPage } from '../../../../web/components/layout.tsx';
import { SignInAgain } from '../../../../web/components/signInAgain.tsx';
import { SETTINGS_PATH } from '../../../signIn/pages/settings/outcomes.ts';
import { DELETION_PATH, EXPORT_PATH } from './paths.ts';

/** Renders the page of the deletion in its current state. */
export async function renderDeletionPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  if (await isDeletionRequested(accountId))
    return sendRequestedPage(ctx, await findRequestedDeletion(accountId), flash, status);
  const [summary, isRecent] = await Promise.all([summarizeDeletion(accountId), isSignInRecent(requireCaller(ctx))]);
  const children = (
    <>
      <Consequences {...summary} />
      <section class="card" aria-labelledby="confirm">
        <h2 id="confirm">Delete this account</h2>
        {isRecent ? (
          <DeletionForm email={summary.email} csrfToken={createCsrfToken(ctx)} />
        ) : (
          <SignInAgain returnTo={DELETION_PATH} />
        )}
      </section>
    </>
  );
  await sendAccountAreaPage(ctx, { current: SETTINGS_PATH, heading: 'Delete account', ...flash, children }, status);
}

function Consequences({ balance, inFlight, activeKeys, subscription, commissions }: DeletionSummary): VNode {
  return (
    <section class="card" aria-labelledby="consequences">
      <h2 id="consequences">What happens</h2>
      <ul class="plain">
        <li>
          Immediately: all other sessions, {formatCount(activeKeys, 'API key')} and all connected applications lose
          access. Nothing can be created or bought, and automatic top-ups are off.
        </li>
        {subscription === null ? null : (
          <li>
            Your {subscription.plan} plan no longer renews. What is left of its paid year, until{' '}
            {formatDate(subscription.until)}, is not refunded.
          </li>
        )}
        {balance === 0 ? null : <li>Your {formatNumber(balance)} credits are lost. They are not paid out.</li>}
        {inFlight === 0 ? null : (
          <li>
            {formatCount(inFlight, 'generation')} in progress: completed, or refunded on failure. The files are deleted,
            too.
          </li>
        )}
        {commissions === null ? null : (
          <li>
            {commissions.arePaidOut
              ? `Your commissions of ${formatUsd(commissions.pendingCents)} that are not paid out yet are paid out on their usual dates.`
              : `Your commissions of ${formatUsd(commissions.pendingCents)} are forfeited unless you set up payouts first.`}{' '}
            Your referral link stops working, and later payments of your referrals earn nothing.
          </li>
        )}
        <li>For {DELETION_UNDO_DAYS} days you can sign in and undo the deletion. Until then nothing is erased.</li>
        <li>
          After that your profile, sign-in methods, security log, prompts and files are erased for good. The ledger and
          payments stay without your name, as accounting requires.
        </li>
      </ul>
      <p>
        <a href={EXPORT_PATH}>Download your data</a> first if you want to keep a copy.
      </p>
    </section>
  );
}

function DeletionForm({ email, csrfToken }: { email: string; csrfToken: string }): VNode {
  return (
    <Form action={DELETION_PATH} token={csrfToken}>
      <div class="field">
        <label for="email">Type {email} to confirm</label>
        <input id="email" type="email" name="email" autocomplete="off" required maxLength={EMAIL_MAX_CHARACTERS} />
      </div>
      <div class="buttons">
        <button type="submit" class="main danger">
          Delete account
        </button>
        <a class="button" href={SETTINGS_PATH}>
          Cancel
        </a>
      </div>
    </Form>
  );
}

/** Sends the page of an account that is being deleted. It has no navigation, as all other pages are closed. */
function sendRequestedPage(
  ctx: Context,
  deletion: RequestedDeletion | null,
  { problem }: PageProblem,
  status: number,
): void {
  const csrfToken = createCsrfToken(ctx);
  const isNew = problem === undefined && consumeOutcome(ctx) === 'requested';
  const canUndo = deletion !== null && deletion.canUndo;
  const heading = canUndo ? 'This account will be deleted' : 'This account is being erased';
  const body = (
    <>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      {isNew ? (
        <Notice kind="good">The deletion is requested. All other sessions and credentials have ended.</Notice>
      ) : null}
      <div class="card">
        <h1>{heading}</h1>
        {canUndo ? (
          <>
            <p>
              You requested the deletion on {formatDate(deletion.requestedAt)}. Your data is erased after{' '}
              <strong>{formatDateTime(deletion.eraseAt)} UTC</strong>. Until then nothing can be created or bought.
            </p>
            <Form action={`${DELETION_PATH}undo/`} token={csrfToken}>
              <button type="submit" class="main wide">
                Undo
              </button>
            </Form>
            <p class="apart">
              <a class="button wide" href={EXPORT_PATH}>
                Download your data
              </a>
            </p>
          </>
        ) : (
          <p>The deletion can no longer be undone. You are signed out when it is completed.</p>
        )}
        <Form action="/account/sign-out/" token={csrfToken} class="apart">
          <button type="submit" class="wide">
            Sign out
          </button>
        </Form>
      </div>
    </>
  );
  const title = problem === undefined ? (isNew ? 'Deletion requested' : heading) : `Error: ${heading}`;
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

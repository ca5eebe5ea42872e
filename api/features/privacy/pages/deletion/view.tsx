import type { VNode } from 'preact';
import {
  DELETION_UNDO_DAYS,
  findRequestedDeletion,
  isDeletionRequested,
} from '../../../../../shared/domain/privacy/deletion.ts';
import { type DeletionSummary, summarizeDeletion } from '../../../../../shared/domain/privacy/deletionSummary.ts';
import { listJoinedAccounts } from '../../../../../shared/domain/members/switchAccount.ts';
import { isSignInRecent } from '../../../../../shared/domain/signIn/recentSignIn.ts';
import { EMAIL_MAX_CHARACTERS } from '../../../../../shared/lib/email.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { consumeOutcome } from '../../../../pipeline/cookies/outcomeCookie.ts';
import { AccountSwitch, nameCurrentAccount } from '../../../../web/components/accountSwitch.tsx';
import {
  getFirstSentence,
  mayDo,
  type PageProblem,
  sendAccountAreaPage,
} from '../../../../web/components/areaPage.tsx';
import { Form, Notice } from '../../../../web/components/form.tsx';
import { formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatDate } from '../../../../web/components/formatTime.ts';
import { sendPage } from '../../../../web/components/layout.tsx';
import { SignInAgain } from '../../../../web/components/signInAgain.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { t as shared } from '../../../../web/texts.ts';
import { SETTINGS_PATH } from '../../../signIn/pages/settings/outcomes.ts';
import { t as settings } from '../../../signIn/pages/settings/texts.ts';
import { Section } from '../../../../web/components/section.tsx';
import { DELETION_PATH, EXPORT_PATH } from './paths.ts';
import { t } from './texts.ts';

/** Renders the page of the deletion in its current state. */
export async function renderDeletionPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  if (await isDeletionRequested(accountId)) return sendRequestedPage(ctx, flash, status);
  const [summary, isRecent, name] = await Promise.all([
    summarizeDeletion(accountId),
    isSignInRecent(caller),
    nameCurrentAccount(ctx),
  ]);
  const children = (
    <>
      <Consequences {...summary} />
      <Section id="confirm" title={t.deleteThis()}>
        <p>
          <strong>{name}</strong>
        </p>
        {isRecent ? <DeletionForm email={summary.email} /> : <SignInAgain returnTo={DELETION_PATH} />}
      </Section>
    </>
  );
  const page = { current: SETTINGS_PATH, heading: settings.deleteAccount(), ...flash, children } as const;
  await sendAccountAreaPage(ctx, page, status);
}

function Consequences(summary: DeletionSummary): VNode {
  const { balance, inFlight, activeKeys, otherMembers, subscription, commissions } = summary;
  return (
    <Section id="consequences" title={t.consequences()}>
      <ul class="plain">
        <li>{t.immediately({ keys: activeKeys })}</li>
        {otherMembers === 0 ? null : <li>{t.membersLeave({ members: otherMembers })}</li>}
        {subscription === null ? null : (
          <li>{t.planEnds({ plan: subscription.plan, date: formatDate(subscription.until) })}</li>
        )}
        {balance === 0 ? null : <li>{t.creditsLost({ credits: balance })}</li>}
        {inFlight === 0 ? null : <li>{t.inProgress({ count: inFlight })}</li>}
        {commissions === null ? null : (
          <li>
            {(commissions.arePaidOut ? t.commissionsPaid : t.commissionsForfeited)({
              amount: formatUsd(commissions.pendingCents),
            })}{' '}
            {t.referralsEnd()}
          </li>
        )}
        <li>{t.undoDays({ days: DELETION_UNDO_DAYS })}</li>
        <li>{t.erased()}</li>
      </ul>
      <p>{t.downloadFirst({ link: EXPORT_PATH })}</p>
    </Section>
  );
}

function DeletionForm({ email }: { email: string }): VNode {
  return (
    <Form action={DELETION_PATH}>
      <div class="field">
        <label for="email">{t.typeToConfirm({ email })}</label>
        <input id="email" type="email" name="email" autocomplete="off" required maxLength={EMAIL_MAX_CHARACTERS} />
      </div>
      <div class="buttons">
        <button type="submit" class="main danger">
          {settings.deleteAccount()}
        </button>
        <a class="button" href={SETTINGS_PATH}>
          {shared.cancel()}
        </a>
      </div>
    </Form>
  );
}

/**
 * Sends the page of an account that is being deleted. It has no navigation, as all other pages are closed; only the
 * owner can undo the deletion and download the data.
 */
async function sendRequestedPage(ctx: Context, { problem }: PageProblem, status: number): Promise<void> {
  const caller = requireCaller(ctx);
  const [deletion, accounts] = await Promise.all([findRequestedDeletion(caller.accountId), listJoinedAccounts(caller)]);
  const name = await nameCurrentAccount(ctx, accounts);
  const isOwner = mayDo(ctx, 'own');
  const isNew = problem === undefined && consumeOutcome(ctx) === 'requested';
  const canUndo = deletion !== null && deletion.canUndo;
  const heading = canUndo ? t.willBeDeleted() : t.beingErased();
  const body = (
    <>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      {isNew ? <Notice kind="good">{t.requested()}</Notice> : null}
      <div class="card">
        <h1>{heading}</h1>
        <p>
          <strong>{name}</strong>
        </p>
        {canUndo ? (
          <p>
            {(isOwner ? t.erasedAfter : t.erasedByOwner)({
              date: formatDate(deletion.requestedAt),
              time: () => <Time at={deletion.eraseAt} />,
            })}
          </p>
        ) : (
          <p>{t.tooLate()}</p>
        )}
        {canUndo && isOwner ? (
          <>
            <Form action={`${DELETION_PATH}undo/`}>
              <button type="submit" class="main wide">
                {t.undo()}
              </button>
            </Form>
            <p class="apart">
              <a class="button wide" href={EXPORT_PATH}>
                {settings.downloadData()}
              </a>
            </p>
          </>
        ) : null}
        <AccountSwitch accounts={accounts} />
        <Form action="/account/sign-out/" class="apart">
          <button type="submit" class="wide">
            {shared.signOut()}
          </button>
        </Form>
      </div>
    </>
  );
  const title =
    problem === undefined ? (isNew ? getFirstSentence(t.requested()) : heading) : shared.errorTitle({ heading });
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

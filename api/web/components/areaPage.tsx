import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { requireMember } from '../../../shared/domain/accounts/caller.ts';
import { listJoinedAccounts } from '../../../shared/domain/members/switchAccount.ts';
import { getActivePlan } from '../../../shared/domain/credits/entitlement.ts';
import { hasRight, type MemberRight } from '../../../shared/spec/roles.ts';
import { hasPermission, type StaffPermission, type StaffRole } from '../../../shared/spec/staff.ts';
import { requireCaller, requirePerson, type Context } from '../../context.ts';
import { type Lazy, resolve } from '../../lazy.ts';
import { consumeOutcome } from '../../pipeline/cookies/outcomeCookie.ts';
import {
  type AccountEntry,
  type AreaNotice,
  listAccountEntries,
  listNotices,
  listStaffEntries,
  type StaffEntry,
} from '../navigation.ts';
import { t } from '../texts.ts';
import { AccountSwitch } from './accountSwitch.tsx';
import type { AreaNavigationProps } from './areaNavigation.tsx';
import { FIELD_ERROR_ID, Notice } from './form.tsx';
import { Icon } from './icon.tsx';
import { sendPage } from './layout.tsx';

/** Outcome of an action, in sentences. The first one is the title of the page, too. */
export type Outcome = Lazy<string>;

/** Outcomes of a page's forms, by the code in the `done` parameter of the redirect to the page. */
export type Outcomes = Readonly<Record<string, Outcome>>;

/** Message of a form that was not accepted. */
export interface PageProblem {
  problem?: ComponentChildren;
}

interface AreaPage<Path extends string> extends PageProblem {
  current: Path;
  heading: string;
  outcomes?: Outcomes;
  /** Outcome that the URL does not name. */
  outcome?: Outcome | undefined;
  /** Title in place of the heading or the outcome. */
  title?: Lazy<string> | undefined;
  children: ComponentChildren;
  /** Allows images and videos from CDN_URL. */
  hasMedia?: boolean;
  /** Address that the browser opens by itself after some seconds. */
  refresh?: { seconds: number; to: string };
}

/**
 * Sends a page of the account area, with the balance, what is wrong with the account, and the script for live updates.
 */
export async function sendAccountAreaPage(
  ctx: Context,
  page: AreaPage<AccountEntry['path']>,
  status = 200,
): Promise<void> {
  const caller = requireCaller(ctx);
  const { role } = requireMember(caller);
  const [account, accounts] = await Promise.all([getAccount(caller.accountId), listJoinedAccounts(caller)]);
  const { email } = requirePerson(ctx);
  const { balance } = account;
  const plan = mayDo(ctx, 'manageBilling') ? { isActive: getActivePlan(account) !== null } : null;
  const area = {
    navigation: { label: t.account(), entries: listAccountEntries(role), email },
    corner: (
      <>
        <AccountSwitch accounts={accounts} />
        <Balance credits={balance} plan={plan} />
      </>
    ),
    notices: await listNotices(account, role),
    hasScript: true,
  };
  sendAreaPage(ctx, page, area, status);
}

/** Sends a page of the staff console, with the pages that the role may open and who is signed in. */
export async function sendStaffConsolePage(
  ctx: Context,
  page: AreaPage<StaffEntry['path']>,
  status = 200,
): Promise<void> {
  const { email } = await getAccount(requireCaller(ctx).accountId);
  const entries = listStaffEntries().filter(({ permission }) => mayUse(ctx, permission));
  const navigation = { label: 'Staff', entries, email, note: `Role ${getStaffRole(ctx)}` };
  sendAreaPage(ctx, page, { navigation, notices: [] }, status);
}

interface Area {
  navigation: Omit<AreaNavigationProps, 'current'>;
  corner?: VNode;
  notices: readonly AreaNotice[];
  hasScript?: boolean;
}

/**
 * Sends a page of an area: its heading, the outcome or problem of the last action, and its content. The title contains
 * the outcome, because screen readers read it first.
 */
function sendAreaPage(ctx: Context, page: AreaPage<string>, area: Area, status: number): void {
  const { current, heading, problem, outcomes = {}, children, hasMedia, refresh } = page;
  const shown = problem === undefined ? (page.outcome ?? findOutcome(outcomes, consumeOutcome(ctx))) : undefined;
  const outcome = resolve(shown);
  const body = (
    <>
      {problem === undefined ? null : <Problem problem={problem}>{children}</Problem>}
      {outcome === undefined ? null : <Notice kind="good">{outcome}</Notice>}
      {area.notices.map((notice) => (
        <Warning {...notice} />
      ))}
      {children}
    </>
  );
  const plainTitle = outcome === undefined ? resolve(page.title ?? heading) : getFirstSentence(outcome);
  const title = problem === undefined ? plainTitle : t.errorTitle({ heading });
  const navigation = { ...area.navigation, current };
  const { corner, hasScript } = area;
  sendPage(ctx, { title, body, heading, hasMedia, refresh, navigation, corner, hasScript }, status);
}

/** Says why a form was not accepted, with a link to the field that is the reason if the content of the page has it. */
function Problem({ problem, children }: { problem: ComponentChildren; children: ComponentChildren }): VNode {
  const hasField = renderToString(<>{children}</>).includes(` id="${FIELD_ERROR_ID}"`);
  return <Notice kind="bad">{hasField ? <a href={`#${FIELD_ERROR_ID}`}>{problem}</a> : problem}</Notice>;
}

/** The balance; with a plan to buy from, for members who may, the link to do so. */
function Balance({ credits, plan }: { credits: number; plan: { isActive: boolean } | null }): VNode {
  return (
    <p class="balance">
      <span>{t.balance({ credits })}</span>
      {plan === null ? null : (
        <a class="button main" href={`/account/billing/#${plan.isActive ? 'topup' : 'plans'}`}>
          {plan.isActive ? t.buyCredits() : t.choosePlan()}
        </a>
      )}
    </p>
  );
}

function Warning({ kind, text, action }: AreaNotice): VNode {
  return (
    <div class={`notice ${kind}`}>
      <Icon name="warning" />
      <p>{text}</p>
      <a class="button slight" href={action.href}>
        {action.label}
      </a>
    </div>
  );
}

/** Returns the first sentence of a text in any language, without its full stop. */
export function getFirstSentence(text: string): string {
  return text.replace(/(\.\s|\.$|\u3002)[^]*/, '');
}

/** Finds an outcome by its code, which may be anything if it comes from a URL. */
function findOutcome(outcomes: Outcomes, code: unknown): Outcome | undefined {
  return typeof code === 'string' && Object.hasOwn(outcomes, code) ? outcomes[code] : undefined;
}

function getStaffRole(ctx: Context): StaffRole {
  if (ctx.state.staffRole === undefined) throw new Error(`${ctx.state.route?.path} is not a staff route.`);
  return ctx.state.staffRole;
}

/** Returns whether the member of a request holds a right, to show only what they may do. */
export function mayDo(ctx: Context, right: MemberRight): boolean {
  return hasRight(requireMember(requireCaller(ctx)).role, right);
}

/** Returns whether the staff member of a request holds a permission, to show only what they may do. */
export function mayUse(ctx: Context, permission: StaffPermission): boolean {
  return hasPermission(getStaffRole(ctx), permission);
}

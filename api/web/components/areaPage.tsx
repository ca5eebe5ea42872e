import type { ComponentChildren } from 'preact';
import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { hasPermission, type StaffPermission, type StaffRole } from '../../../shared/spec/staff.ts';
import { requireCaller, type Context } from '../../context.ts';
import { consumeOutcome } from '../../pipeline/cookies/outcomeCookie.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { type AccountEntry, listAccountEntries, listStaffEntries, type StaffEntry } from '../navigation.ts';
import type { AreaNavigationProps } from './areaNavigation.tsx';
import { Notice } from './form.tsx';
import { sendPage } from './layout.tsx';

/** Outcome of an action: the title of the page, and a sentence. */
export type Outcome = readonly [title: string, sentence: string];

/** Outcomes of a page's forms, by the code in the `done` parameter of the redirect to the page. */
export type Outcomes = Readonly<Record<string, Outcome>>;

/** Message of a form that was not accepted. */
export interface PageProblem {
  problem?: string;
}

interface AreaPage<Path extends string> extends PageProblem {
  current: Path;
  heading: string;
  outcomes?: Outcomes;
  /** Outcome that the URL does not name. */
  outcome?: Outcome | undefined;
  /** Title in place of the heading or the outcome. */
  title?: string | undefined;
  children: ComponentChildren;
  isWide?: boolean;
  /** Allows images and videos from CDN_URL. */
  hasMedia?: boolean;
}

/** Sends a page of the account area, which has the script for live updates. */
export function sendAccountAreaPage(ctx: Context, page: AreaPage<AccountEntry['path']>, status = 200): void {
  sendAreaPage(ctx, page, { label: 'Account', entries: listAccountEntries(), hasScript: true }, status);
}

/** Sends a page of the staff console, with the pages that the role may open and who is signed in. */
export async function sendStaffConsolePage(
  ctx: Context,
  page: AreaPage<StaffEntry['path']>,
  status = 200,
): Promise<void> {
  const { email } = await getAccount(requireCaller(ctx).accountId);
  const entries = listStaffEntries().filter(({ permission }) => mayUse(ctx, permission));
  const note = `Signed in as ${email}, role ${getStaffRole(ctx)}`;
  sendAreaPage(ctx, { ...page, isWide: true }, { label: 'Staff', entries, note }, status);
}

type Area = Pick<AreaNavigationProps, 'label' | 'entries' | 'note'> & { hasScript?: boolean };

/**
 * Sends a page of an area: its heading, the outcome or problem of the last action, and its content. The title contains
 * the outcome, because screen readers read it first.
 */
function sendAreaPage(ctx: Context, page: AreaPage<string>, { hasScript, ...area }: Area, status: number): void {
  const { current, heading, problem, outcomes = {}, children, isWide, hasMedia } = page;
  const outcome = problem === undefined ? (page.outcome ?? findOutcome(outcomes, consumeOutcome(ctx))) : undefined;
  const body = (
    <>
      <h1>{heading}</h1>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      {outcome === undefined ? null : <Notice kind="good">{outcome[1]}</Notice>}
      {children}
    </>
  );
  const title = problem === undefined ? (outcome?.[0] ?? page.title ?? heading) : `Error: ${heading}`;
  const navigation = { ...area, current, csrfToken: createCsrfToken(ctx) };
  sendPage(ctx, { title, body, isWide, hasMedia, navigation, hasScript }, status);
}

/** Finds an outcome by its code, which may be anything if it comes from a URL. */
export function findOutcome(outcomes: Outcomes, code: unknown): Outcome | undefined {
  return typeof code === 'string' && Object.hasOwn(outcomes, code) ? outcomes[code] : undefined;
}

function getStaffRole(ctx: Context): StaffRole {
  if (ctx.state.staffRole === undefined) throw new Error(`${ctx.state.route?.path} is not a staff route.`);
  return ctx.state.staffRole;
}

/** Returns whether the staff member of a request holds a permission, to show only what they may do. */
export function mayUse(ctx: Context, permission: StaffPermission): boolean {
  return hasPermission(getStaffRole(ctx), permission);
}

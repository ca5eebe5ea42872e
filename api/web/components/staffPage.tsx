import type { ComponentChildren } from 'preact';
import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { hasPermission, type StaffPermission, type StaffRole } from '../../../shared/spec/staff.ts';
import { requireCaller, type Context } from '../../context.ts';
import { consumeOutcome } from '../../pipeline/cookies/outcomeCookie.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { findOutcome, type Outcomes, type PageProblem } from './accountPage.tsx';
import { Notice } from './form.tsx';
import { sendPage } from './layout.tsx';
import type { StaffPagePath } from './staffNavigation.tsx';

interface StaffPage extends PageProblem {
  current: StaffPagePath;
  heading: string;
  outcomes?: Outcomes;
  children: ComponentChildren;
  /** Allows images and videos from CDN_URL. */
  hasMedia?: boolean;
}

/**
 * Sends a page of the staff console: its heading, the outcome or problem of the last action, and its content. The title
 * contains the outcome, because screen readers read it first.
 */
export async function sendStaffConsolePage(ctx: Context, page: StaffPage, status = 200): Promise<void> {
  const { current, heading, problem, outcomes = {}, children, hasMedia = false } = page;
  const { email } = await getAccount(requireCaller(ctx).accountId);
  const outcome = problem === undefined ? findOutcome(outcomes, consumeOutcome(ctx)) : undefined;
  const body = (
    <>
      <h1>{heading}</h1>
      {problem === undefined ? null : <Notice kind="bad">{problem}</Notice>}
      {outcome === undefined ? null : <Notice kind="good">{outcome[1]}</Notice>}
      {children}
    </>
  );
  const title = problem === undefined ? (outcome?.[0] ?? heading) : `Error: ${heading}`;
  const staff = { current, email, role: getStaffRole(ctx), csrfToken: createCsrfToken(ctx) };
  sendPage(ctx, { title, body, isWide: true, hasMedia, staff }, status);
}

function getStaffRole(ctx: Context): StaffRole {
  if (ctx.state.staffRole === undefined) throw new Error(`${ctx.state.route?.path} is not a staff route.`);
  return ctx.state.staffRole;
}

/** Returns whether the staff member of a request holds a permission, to show only what they may do. */
export function mayUse(ctx: Context, permission: StaffPermission): boolean {
  return hasPermission(getStaffRole(ctx), permission);
}

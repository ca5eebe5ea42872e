import type { ComponentChildren } from 'preact';
import type { Context } from '../../context.ts';
import { consumeOutcome } from '../../pipeline/cookies/outcomeCookie.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import type { AccountPagePath } from './accountNavigation.tsx';
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

interface AccountAreaPage extends PageProblem {
  current: AccountPagePath;
  heading: string;
  outcomes?: Outcomes;
  /** Outcome that the URL does not name. */
  outcome?: Outcome | undefined;
  /** Title in place of the heading or the outcome. */
  title?: string | undefined;
  children: ComponentChildren;
  isWide?: boolean;
  hasMedia?: boolean;
}

/**
 * Sends a page of the account area: its heading, the outcome or problem of the last action, and its content. The title
 * contains the outcome, because screen readers read it first.
 */
export function sendAccountAreaPage(ctx: Context, page: AccountAreaPage, status = 200): void {
  const { current, heading, problem, outcomes = {}, children, isWide = false, hasMedia = false } = page;
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
  const account = { current, csrfToken: createCsrfToken(ctx) };
  sendPage(ctx, { title, body, isWide, hasMedia, account }, status);
}

/** Finds an outcome by its code, which may be anything if it comes from a URL. */
export function findOutcome(outcomes: Outcomes, code: unknown): Outcome | undefined {
  return typeof code === 'string' && Object.hasOwn(outcomes, code) ? outcomes[code] : undefined;
}

import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';

/** Width of the narrowest window in which pages must not scroll sideways (WCAG 2.2, 1.4.10). */
export const NARROW_WIDTH = 320;
/** Elements that one page has at most in its tab order. */
const TAB_STOPS_MAX = 120;

/** Opens a window that is signed in as the owner of a session cookie, unless there is none. */
export async function openContext(
  browser: Browser,
  baseURL: string,
  cookie: string | undefined,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL, ...options });
  const [name = '', value = ''] = cookie?.split('=') ?? [];
  if (cookie !== undefined) await context.addCookies([{ name, value, url: baseURL }]);
  return context;
}

/** Presses Tab until an element has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let stops = 0; stops < TAB_STOPS_MAX; stops += 1) {
    await page.keyboard.press('Tab');
    if (await target.evaluate((element: any) => element.matches(':focus') as boolean)) return;
  }
  throw new Error(`Tab does not reach ${String(target)} on ${page.url()}.`);
}

/** Moves to an element with the Tab key and presses Enter. */
export async function pressEnterOn(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
}

/** Fails if a page is wider than its window. */
export async function expectFits(page: Page): Promise<void> {
  const width = page.viewportSize()?.width ?? 0;
  expect(await page.evaluate('document.documentElement.scrollWidth'), page.url()).to.be.at.most(width);
}

/**
 * Waits for the page that follows a form. Fails unless its title starts with the outcome, whose notice has the focus.
 */
export async function expectOutcome(page: Page, address: string, title: string): Promise<void> {
  await page.waitForURL(`**${address}`);
  expect(await page.title()).to.match(new RegExp(`^${title} · `));
  // The browser applies autofocus with the next frame, which may follow the load event.
  const focused = page.locator('.notice:focus');
  await focused.first().waitFor();
  expect(await focused.count(), address).to.equal(1);
  await expectFits(page);
}

const AXE_SOURCE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Loads the checker into each document of a window. Sending it to each would take most of the time of a check. */
export const loadAxe = (context: BrowserContext): Promise<unknown> => context.addInitScript({ path: AXE_SOURCE });

/** Rules whose result depends on colors or on the layout. The others read the document alone. */
export const STYLE_RULES = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

/**
 * Checks the rules of WCAG 2.2 (A and AA) and best practices.
 * @param rules names of rules to check instead of all.
 * @returns one line for each violation.
 */
export async function findAxeViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) });
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as {
    violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
  };
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Opens the address at which a program asks for access, signs in as a new user, and allows it. */
export async function allowInBrowser(browser: Browser, address: string): Promise<void> {
  const page = await browser.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(address);
  await page.getByLabel('E-mail address').fill(`${randomUUID()}@example.com`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  // The program shows a page of its own.
  await page.waitForURL((url) => url.origin !== new URL(address).origin);
  await page.close();
}

import type { TestCustomer } from './apiClient.ts';
import { createBrowserFor, findForm, type HttpBrowser, type HttpPage } from './httpBrowser.ts';
import type { TestService } from './testService.ts';

/** Pages with the forms of the account area, by the paths of their actions. */
const PAGES_WITH_FORMS: readonly [action: RegExp, page: string][] = [
  [/^\/account\/(plan|portal|billing\/.+)\/$/, '/account/billing/'],
  [/^\/account\/keys\/$/, '/account/keys/'],
  [/^\/account\/webhooks\/$/, '/account/webhooks/'],
  [/^\/account\/(affiliate|payouts)\/$/, '/account/affiliate/'],
  [/^\/account\/export\/$/, '/account/export/'],
  [/^\/account\/delete\/undo\/$/, '/account/delete/'],
  [/^\/account\/(profile|identities\/.+\/link)\/$/, '/account/settings/'],
];
/** Actions with a confirmation page at their own path, and those of the page of a webhook endpoint or a key. */
const ACTIONS_OF_OWN_PAGES =
  /\/(revoke|remove|delete|cancel|rotate|end-others)\/$|\/(applications|sessions)\/.+\/(end|limit)\/$|\/(webhooks|keys)\/[\w-]+\/$/;

/** Creates a customer, with a browser that is signed in. */
export async function createVisitor(
  service: TestService,
  plan: string | null = null,
): Promise<{ customer: TestCustomer; visitor: HttpBrowser }> {
  const customer = await service.createCustomer(plan);
  return { customer, visitor: createBrowserFor(customer) };
}

/** Submits a form of the account area, from its own page or its confirmation page, with changed fields. */
export async function sendAccountForm(
  baseUrl: string,
  visitor: HttpBrowser,
  action: string,
  fields: Record<string, string> = {},
  origin?: string,
): Promise<HttpPage> {
  const { text } = await visitor.request(`${baseUrl}${getPageWithForm(action)}`);
  return visitor.submitForm(`${baseUrl}${action}`, { ...findForm(text, action).fields, ...fields }, origin);
}

/** Returns the path of the page that contains the form of an action. */
export function getPageWithForm(action: string): string {
  if (ACTIONS_OF_OWN_PAGES.test(action)) return action;
  return PAGES_WITH_FORMS.find(([pattern]) => pattern.test(action))?.[1] ?? '/account/';
}

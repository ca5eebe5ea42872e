import type { TestCustomer } from './apiClient.ts';
import { createBrowserFor, findForm, type HttpBrowser, type HttpPage } from './httpBrowser.ts';
import type { TestService } from './testService.ts';

/** Paths of actions with a confirmation page. */
const CONFIRMATION_PATHS = /\/(revoke|end-others|delete)\/$/;

/** Actions with a form on the billing page. */
const BILLING_ACTIONS = /^\/account\/(plan|portal|billing\/.+)\/$/;

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
  if (CONFIRMATION_PATHS.test(action)) return action;
  return BILLING_ACTIONS.test(action) ? '/account/billing/' : '/account/';
}

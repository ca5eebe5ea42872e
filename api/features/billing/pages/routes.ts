import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import * as billingPage from './handler.ts';
import { BILLING_PATH } from './view.tsx';

// biome-ignore format: aligned columns.
export const BILLING_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/billing/',                               'page', 'session', 'account',   'none', billingPage.showBillingPage],
  ['POST',    '/account/billing/topup/',                         'page', 'session', 'payment',   'form', billingPage.buyCredits],
  ['POST',    '/account/billing/auto-topup/',                    'page', 'session', 'payment',   'form', billingPage.saveAutoTopup],
  ['GET',     '/account/billing/invoices/:uuid/',                'page', 'session', 'payment',   'none', billingPage.openInvoice],
  ['POST',    '/account/plan/',                                  'page', 'session', 'payment',   'form', billingPage.choosePlan],
  ['POST',    '/account/portal/',                                'page', 'session', 'payment',   'form', billingPage.openBillingPortal],
  // Addresses of forms that respond with a page: people reload them or return to them after signing in again.
  ['GET',     '/account/plan/',                                  'page', 'session', 'account',   'none', redirectTo(BILLING_PATH)],
  ['GET',     '/account/portal/',                                'page', 'session', 'account',   'none', redirectTo(BILLING_PATH)],
  ['GET',     '/account/billing/topup/',                         'page', 'session', 'account',   'none', redirectTo(BILLING_PATH)],
  ['GET',     '/account/billing/auto-topup/',                    'page', 'session', 'account',   'none', redirectTo(BILLING_PATH)],
];

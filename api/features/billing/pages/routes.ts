import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import * as billingPage from './handler.ts';
import { BILLING_PATH } from './view.tsx';

// biome-ignore format: aligned columns.
export const BILLING_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/billing/',                               'page', 'session', 'account',   'none', billingPage.showBillingPage, { needs: 'manageBilling' }],
  ['POST',    '/account/billing/topup/',                         'page', 'session', 'payment',   'form', billingPage.buyCredits, { needs: 'manageBilling' }],
  ['POST',    '/account/billing/auto-topup/',                    'page', 'session', 'payment',   'form', billingPage.saveAutoTopup, { needs: 'manageBilling' }],
  ['GET',     '/account/billing/invoices/:uuid/',                'page', 'session', 'payment',   'none', billingPage.openInvoice, { needs: 'manageBilling' }],
  ['POST',    '/account/plan/',                                  'page', 'session', 'payment',   'form', billingPage.choosePlan, { needs: 'manageBilling' }],
  ['POST',    '/account/portal/',                                'page', 'session', 'payment',   'form', billingPage.openBillingPortal, { needs: 'manageBilling' }],
  // Addresses of forms that respond with a page: people reload them or return to them after signing in again.
  ['GET',     '/account/plan/',                                  'page', 'session', 'account',   'none', redirectTo(BILLING_PATH), { needs: 'manageBilling' }],
  ['GET',     '/account/portal/',                                'page', 'session', 'account',   'none', redirectTo(BILLING_PATH), { needs: 'manageBilling' }],
  ['GET',     '/account/billing/topup/',                         'page', 'session', 'account',   'none', redirectTo(BILLING_PATH), { needs: 'manageBilling' }],
  ['GET',     '/account/billing/auto-topup/',                    'page', 'session', 'account',   'none', redirectTo(BILLING_PATH), { needs: 'manageBilling' }],
];

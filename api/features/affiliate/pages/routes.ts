import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import { openReferralLink } from '../referralLink.ts';
import * as affiliatePages from './handler.ts';
import { AFFILIATE_PATH, renderAffiliatePage } from './view.tsx';

// biome-ignore format: aligned columns.
export const AFFILIATE_PAGES: readonly HttpRoute[] = [
  ['GET',     '/r/:code',                                        'page', 'visitor', 'account',   'none', openReferralLink],
  ['GET',     '/account/affiliate/',                             'page', 'session', 'account',   'none', renderAffiliatePage, { needs: 'manageAffiliate' }],
  ['POST',    '/account/affiliate/',                             'page', 'session', 'account',   'form', affiliatePages.becomeAffiliate, { needs: 'manageAffiliate' }],
  ['POST',    '/account/payouts/',                               'page', 'session', 'payment',   'form', affiliatePages.startPayoutSetup, { needs: 'own', recentSignIn: true }],
  ['GET',     '/account/payouts/again',                          'page', 'session', 'payment',   'none', affiliatePages.restartPayoutSetup, { needs: 'own', recentSignIn: true }],
  ['GET',     '/account/payouts/returned',                       'page', 'session', 'payment',   'none', affiliatePages.completePayoutSetup, { needs: 'own' }],
  // Addresses of forms that respond with a page: people reload them or return to them after signing in again.
  ['GET',     '/account/payouts/',                               'page', 'session', 'account',   'none', redirectTo(AFFILIATE_PATH), { needs: 'own' }],
];

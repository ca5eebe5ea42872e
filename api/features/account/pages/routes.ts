import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import * as account from './handler.ts';

// biome-ignore format: aligned columns.
export const ACCOUNT_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/',                                       'page', 'session', 'account',   'none', account.showOverviewPage, { needs: 'viewUsage' }],
  ['POST',    '/account/sign-out/',                              'page', 'session', 'account',   'form', account.signOut, { needs: 'actForOneself', duringDeletion: true }],
  ['GET',     '/account/sign-out/',                              'page', 'session', 'account',   'none', redirectTo('/account/'), { needs: 'actForOneself', duringDeletion: true }],
];

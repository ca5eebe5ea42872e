import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import * as apiKeyPages from './handler.tsx';
import { renderKeysPage } from './view.tsx';

// biome-ignore format: aligned columns.
export const API_KEYS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/keys/',                                  'page', 'session', 'account',   'none', renderKeysPage, { needs: 'manageKeys' }],
  ['POST',    '/account/keys/',                                  'page', 'session', 'account',   'form', apiKeyPages.createKey, { needs: 'manageKeys', recentSignIn: apiKeyPages.createsLiveKey }],
  ['GET',     '/account/keys/:uuid/',                            'page', 'session', 'account',   'none', apiKeyPages.showKeyPage, { needs: 'manageKeys', recentSignIn: true }],
  ['POST',    '/account/keys/:uuid/',                            'page', 'session', 'account',   'form', apiKeyPages.saveKey, { needs: 'manageKeys', recentSignIn: true }],
  ...actionRoutes('/account/keys/:uuid/revoke/', apiKeyPages.revokeKey, { needs: 'manageKeys' }),
];

import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import { movedTo } from '../../../pipeline/redirect.ts';
import * as applications from './handler.tsx';
import { renderApplicationsPage } from './view.tsx';

// biome-ignore format: aligned columns.
export const APPLICATIONS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/connect/',                               'page', 'session', 'account',   'none', movedTo('/account/applications/#connect'), { needs: 'manageKeys' }],
  ['GET',     '/account/applications/',                          'page', 'session', 'account',   'none', renderApplicationsPage, { needs: 'manageKeys' }],
  ['GET',     '/account/applications/:uuid/limit/',              'page', 'session', 'account',   'none', applications.showLimitPage, { needs: 'manageKeys' }],
  ['POST',    '/account/applications/:uuid/limit/',              'page', 'session', 'account',   'form', applications.saveApplicationLimit, { needs: 'manageKeys' }],
  ...actionRoutes('/account/applications/:uuid/end/', applications.disconnect, { needs: 'manageKeys' }),
];

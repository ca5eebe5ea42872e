import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import * as dataExport from './export/handler.tsx';
import * as accountDeletion from './deletion/handler.ts';
import { DELETION_PATH } from './deletion/paths.ts';

// biome-ignore format: aligned columns.
export const PRIVACY_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/export/',                                'page', 'session', 'account',   'none', dataExport.renderExportPage, { needs: 'own', duringDeletion: true }],
  ['POST',    '/account/export/',                                'page', 'session', 'account',   'form', dataExport.downloadExport, { needs: 'own', recentSignIn: true, duringDeletion: true }],
  ['GET',     '/account/delete/',                                'page', 'session', 'account',   'none', accountDeletion.showDeletionPage, { needs: 'actForOneself', duringDeletion: true }],
  ['POST',    '/account/delete/',                                'page', 'session', 'account',   'form', accountDeletion.requestDeletion, { needs: 'own', recentSignIn: true, duringDeletion: true }],
  ['POST',    '/account/delete/undo/',                           'page', 'session', 'account',   'form', accountDeletion.undoDeletion, { needs: 'own', duringDeletion: true }],
  ['GET',     '/account/delete/undo/',                           'page', 'session', 'account',   'none', redirectTo(DELETION_PATH), { needs: 'own', duringDeletion: true }],
];

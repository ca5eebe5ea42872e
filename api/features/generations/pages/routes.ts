import type { HttpRoute } from '../../../pipeline/route.ts';
import * as library from './handler.tsx';

// biome-ignore format: aligned columns.
export const GENERATIONS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/library/',                               'page', 'session', 'account',   'none', library.showLibraryPage, { needs: 'viewGenerations' }],
  ['GET',     '/account/library/:uuid/',                         'page', 'session', 'account',   'none', library.showGenerationPage, { needs: 'viewGenerations' }],
  ['GET',     '/account/library/:uuid/cancel/',                  'page', 'session', 'account',   'none', library.cancelFromLibrary.confirm, { needs: 'createGenerations' }],
  ['POST',    '/account/library/:uuid/cancel/',                  'page', 'session', 'account',   'form', library.cancelFromLibrary.submit, { needs: 'createGenerations' }],
  ['GET',     '/account/library/:uuid/delete/',                  'page', 'session', 'account',   'none', library.deleteFromLibrary.confirm, { needs: 'createGenerations' }],
  ['POST',    '/account/library/:uuid/delete/',                  'page', 'session', 'account',   'form', library.deleteFromLibrary.submit, { needs: 'createGenerations' }],
];

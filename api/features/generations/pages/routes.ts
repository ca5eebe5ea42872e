import type { HttpRoute } from '../../../pipeline/route.ts';
import * as library from './handler.tsx';

// biome-ignore format: aligned columns.
export const GENERATIONS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/library/',                               'page', 'session', 'account',   'none', library.showLibraryPage],
  ['GET',     '/account/library/:uuid/',                         'page', 'session', 'account',   'none', library.showGenerationPage],
  ['GET',     '/account/library/:uuid/cancel/',                  'page', 'session', 'account',   'none', library.confirmCancelGeneration],
  ['POST',    '/account/library/:uuid/cancel/',                  'page', 'session', 'account',   'form', library.cancelFromLibrary],
  ['GET',     '/account/library/:uuid/delete/',                  'page', 'session', 'account',   'none', library.confirmDeleteGeneration],
  ['POST',    '/account/library/:uuid/delete/',                  'page', 'session', 'account',   'form', library.deleteFromLibrary],
];

import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import * as library from './handler.tsx';

// biome-ignore format: aligned columns.
export const GENERATIONS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/library/',                               'page', 'session', 'account',   'none', library.showLibraryPage, { needs: 'viewGenerations' }],
  ['GET',     '/account/library/:uuid/',                         'page', 'session', 'account',   'none', library.showGenerationPage, { needs: 'viewGenerations' }],
  ...actionRoutes('/account/library/:uuid/cancel/', library.cancelFromLibrary, { needs: 'createGenerations' }),
  ...actionRoutes('/account/library/:uuid/delete/', library.deleteFromLibrary, { needs: 'createGenerations' }),
];

import type { HttpRoute } from '../../../pipeline/route.ts';
import { showGuidePage, showGuidesPage } from './handler.tsx';

// biome-ignore format: aligned columns.
export const GUIDE_PAGES: readonly HttpRoute[] = [
  ['GET',     '/docs/',                                          'page', 'visitor', 'account',   'none', showGuidesPage],
  ['GET',     '/docs/:page/',                                    'page', 'visitor', 'account',   'none', showGuidePage],
];

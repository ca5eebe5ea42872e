import type { HttpRoute } from '../../../pipeline/route.ts';
import { showFrontPage, showModelsPage, showPricingPage } from './handler.tsx';

// biome-ignore format: aligned columns.
export const FRONT_PAGES: readonly HttpRoute[] = [
  ['GET',     '/',                                               'page', 'visitor', 'account',   'none', showFrontPage],
  ['GET',     '/models/',                                        'page', 'visitor', 'account',   'none', showModelsPage],
  ['GET',     '/pricing/',                                       'page', 'visitor', 'account',   'none', showPricingPage],
];

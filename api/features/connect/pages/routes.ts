import type { HttpRoute } from '../../../pipeline/route.ts';
import { showConnectPage } from './handler.tsx';

// biome-ignore format: aligned columns.
export const CONNECT_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/connect/',                               'page', 'session', 'account',   'none', showConnectPage],
];

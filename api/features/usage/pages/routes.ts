import type { HttpRoute } from '../../../pipeline/route.ts';
import { showUsagePage } from './usage/handler.tsx';
import { exportLedger, showLedgerPage } from './ledger/handler.tsx';

// biome-ignore format: aligned columns.
export const USAGE_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/usage/',                                 'page', 'session', 'account',   'none', showUsagePage, { needs: 'viewUsage' }],
  ['GET',     '/account/ledger/',                                'page', 'session', 'account',   'none', showLedgerPage, { needs: 'viewUsage' }],
  ['GET',     '/account/ledger/export/',                         'page', 'session', 'account',   'none', exportLedger, { needs: 'viewUsage' }],
];

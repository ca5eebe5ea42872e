import { REPORTS } from '../../../shared/domain/reports/index.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildPageRequest } from '../httpRequests.ts';
import type { Measurement } from '../report.ts';
import { getSessionToken, HOT_ACCOUNT, seedSessions } from '../seed.ts';
import type { TargetName } from '../targets.ts';
import { compareDatabases, prepareDatabase } from './growth.ts';

const ACCOUNT_PAGES: [TargetName, string][] = [
  ['pageOverview', '/account/'],
  ['pageUsage', '/account/usage/'],
  ['pageLedger', '/account/ledger/'],
  ['pageLibrary', '/account/library/'],
  ['pageBilling', '/account/billing/'],
];

/**
 * Measures how much longer pages take with a hundred times the rows, as `growth` does for the API: the pages of an
 * account, and the reports for staff over their default range.
 */
export async function measurePages(environment: BenchEnvironment): Promise<Measurement[]> {
  const { small, large, requests } = environment.options.growth;
  const others = environment.options.accounts - 1;
  const rowsPerAccount = Math.floor(large / 2 / others);
  const databases = [
    await prepareDatabase(environment, 'bench_pages_small', { hotRows: small, rowsPerAccount: 0 }),
    await prepareDatabase(environment, 'bench_pages_large', {
      hotRows: large - others * rowsPerAccount,
      rowsPerAccount,
    }),
  ];
  for (const { client } of databases) await seedSessions(client);
  const http = await environment.child('./load/httpLoad.ts', environment.postgres.url);
  const reports = REPORTS.map(({ slug }): [TargetName, string] => ['pageReport', `/admin/reports/${slug}/`]);
  const measurements: Measurement[] = [];
  for (const [target, path] of [...ACCOUNT_PAGES, ...reports]) {
    const request = buildPageRequest(path, getSessionToken(HOT_ACCOUNT));
    const compared = await compareDatabases(http, databases, [request], 200, requests);
    measurements.push({ target, title: `page growth: ${path}`, ...compared });
  }
  await Promise.all([...databases.map(({ api }) => api.end()), http.end()]);
  return measurements;
}

import { REPORTS } from '../../../shared/domain/reports/index.ts';
import { PAGE_SIZE } from '../../../shared/spec/limits.ts';
import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildCreate, buildGet, buildKeyGet } from '../httpRequests.ts';
import { getAccountEmail, HOT_ACCOUNT } from '../seed.ts';
import { startSides } from '../sides.ts';
import { buildSessionHeader, deleteSomeGenerations, seedSessions } from '../specialSeeds.ts';

const ACCOUNT_PAGES = ['/account/', '/account/usage/', '/account/ledger/', '/account/library/', '/account/billing/'];

/**
 * Measures how much longer requests take with a hundred times the rows: those of the API, the pages of an account, and
 * the reports for staff over their default range. In the large database one account owns half of the rows; in the small
 * one it owns all, since page 500 would not exist otherwise.
 */
export async function* measure(bench: Bench): Figures {
  const { accounts, growth, only } = bench.options;
  const rowsPerAccount = Math.floor(growth.large / 2 / (accounts - 1));
  const common = {
    env: { STAFF_EMAILS: getAccountEmail(HOT_ACCOUNT) },
    afterSeed: ({ client }: { client: Parameters<typeof seedSessions>[0] }) => seedSessions(client),
  };
  const large = { ...common, hotRows: growth.large - (accounts - 1) * rowsPerAccount, rowsPerAccount };
  const sides = await startSides(bench, 'growth', large, { ...common, hotRows: growth.small });

  if (only.includes('pages')) {
    const pages = [...ACCOUNT_PAGES, ...REPORTS.map(({ slug }) => `/admin/reports/${slug}/`)];
    for (const path of pages) {
      const requests = [buildGet(path, buildSessionHeader(HOT_ACCOUNT))];
      // Pages read several tables, so their times vary more than those of one request of the API.
      yield sides.compare({ name: `page growth: ${path}`, requests, target: [1.5, 1.1] });
    }
  }
  if (only.includes('growth')) {
    const middle = growth.small / PAGE_SIZE;
    const target = [1.2, 1.05] as const;
    for (const [name, path] of [
      ['list, page 1', '/api/generations/'],
      ['list, a middle page', `/api/generations/?page=${middle}`],
      ['ledger, page 1', '/api/ledger/'],
      ['usage summary', '/api/usage/summary/'],
      ['staff metrics', '/api/admin/metrics/'],
    ] as const)
      yield sides.compare({ name: `growth: ${name}`, requests: buildHotGet(path), target });
    yield sides.compare({ name: 'growth: create', requests: [buildCreate(HOT_ACCOUNT)], expect: 201, target });
    // Up to 10,001 matches are counted: most of the small database, and as many of the large one.
    for (const path of ['/api/generations/?kind=image', '/api/ledger/?entry_type=burn'])
      yield sides.compare({ name: `growth: ${path}`, requests: buildHotGet(path) });
    await sides.verify();
    for (const { client } of sides.all) await deleteSomeGenerations(client);
    for (const page of [middle - middle / 10, 1_000_000])
      yield sides.compare({
        name: `growth: list, page ${page}, 5 % deleted`,
        requests: buildHotGet(`/api/generations/?page=${page}`),
      });
  }
}

function buildHotGet(path: string): string[] {
  return [buildKeyGet(HOT_ACCOUNT, path)];
}

import { buildDefaultModels } from '../../../shared/lib/catalog/catalog.ts';
import type { BenchEnvironment } from '../environment.ts';
import { buildCreateRequest, listSpreadAccounts } from '../httpRequests.ts';
import type { Measurement } from '../report.ts';
import { verifySums } from '../verify.ts';
import { compareDatabases, prepareDatabase } from './growth.ts';

const MODELS = 50;

/**
 * Measures creates with 50 models against the two default ones. Two databases run side by side with an API each, and
 * requests alternate between them.
 */
export async function measureCatalog(environment: BenchEnvironment): Promise<Measurement[]> {
  const { accounts, growth } = environment.options;
  const rows = { hotRows: 0, rowsPerAccount: 0 };
  const CATALOG = buildLargeCatalog();
  const databases = [
    { ...(await prepareDatabase(environment, 'bench_two_models', rows)), label: '2 models' },
    {
      ...(await prepareDatabase(environment, 'bench_many_models', rows, { catalog: CATALOG })),
      label: `${MODELS} models`,
    },
  ];
  await databases[1]!.client.query(
    `INSERT INTO upstream_health (model, position, upstream, status, consecutive_failures, consecutive_successes, probed_at, detail)
     SELECT model, 0, '', 'online', 0, 2, now() + interval '1 day', '' FROM unnest($1::text[]) AS model
     ON CONFLICT DO NOTHING`,
    [Object.keys((JSON.parse(CATALOG) as { models: object }).models)],
  );
  const http = await environment.child('./load/httpLoad.ts', environment.postgres.url);
  const requests = listSpreadAccounts(accounts).map((account) => buildCreateRequest(account));
  const compared = await compareDatabases(http, databases, requests, 201, growth.requests);
  for (const { client } of databases) {
    const { rows: counted } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM generations');
    await verifySums(client, counted[0]!.count);
  }
  await Promise.all([...databases.map(({ api }) => api.end()), http.end()]);
  return [{ target: 'catalog', ...compared }];
}

/** Builds a catalog with the default models and others like them, with tables as prices. */
function buildLargeCatalog(): string {
  const [video, image] = buildDefaultModels();
  if (video === undefined || image === undefined) throw new Error('The default models are missing.');
  const own = [video, image].map(({ slug, definition }) => [slug, { ...definition, upstreams: ['fal:bench/default'] }]);
  const others = Array.from({ length: MODELS - own.length }, (_, index) => {
    const { definition } = index % 2 === 0 ? video : image;
    const { uuid: _uuid, ...fields } = definition;
    const credits = { base: { $by: 'resolution', ...buildPrices(fields.params['resolution']?.enum ?? []) } };
    return [`bench-${index}`, { ...fields, name: `Model ${index}`, credits, upstreams: [`fal:bench/model-${index}`] }];
  });
  return JSON.stringify({ models: Object.fromEntries([...own, ...others]) });
}

function buildPrices(values: readonly (string | number)[]): Record<string, number> {
  return Object.fromEntries(values.map((value, index) => [value, 10 + index]));
}

import { buildDefaultModels } from '../../../shared/lib/catalog/catalog.ts';
import type { Bench, SeededDatabase } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildCreates } from '../httpRequests.ts';
import { startSides } from '../sides.ts';

const MODELS = 50;

/** Measures creates with 50 models against the two default ones. */
export async function* measure(bench: Bench): Figures {
  const CATALOG = buildLargeCatalog();
  const afterSeed = async ({ client, url }: SeededDatabase): Promise<void> => {
    await bench.environment.migrate(url, { CATALOG });
    await client.query(
      `INSERT INTO upstream_health (model, position, upstream, status, consecutive_failures, consecutive_successes, probed_at,
                                    detail)
       SELECT model, 0, '', 'online', 0, 2, now() + interval '1 day', '' FROM unnest($1::text[]) AS model
       ON CONFLICT DO NOTHING`,
      [Object.keys((JSON.parse(CATALOG) as { models: object }).models)],
    );
  };
  const sides = await startSides(bench, 'catalog', { env: { CATALOG }, afterSeed }, {});
  const requests = buildCreates(bench.options.accounts);
  const name = `create with ${MODELS} models : with two`;
  yield sides.compare({ name, requests, expect: 201, target: [1.02, 1.02] });
  await sides.verify();
}

/** Builds a catalog with the default models and others like them, with tables as prices. */
function buildLargeCatalog(): string {
  const [video, image] = buildDefaultModels();
  if (video === undefined || image === undefined) throw new Error('The default models are missing.');
  const own = [video, image].map(({ slug, definition }) => [slug, { ...definition, upstreams: ['fal:bench/default'] }]);
  const others = Array.from({ length: MODELS - own.length }, (_, index) => {
    const { uuid: _uuid, ...fields } = (index % 2 === 0 ? video : image).definition;
    const values = fields.params['resolution']?.enum ?? [];
    const prices = Object.fromEntries(values.map((value, place) => [value, 10 + place]));
    const credits = { base: { $by: 'resolution', ...prices } };
    return [`bench-${index}`, { ...fields, name: `Model ${index}`, credits, upstreams: [`fal:bench/model-${index}`] }];
  });
  return JSON.stringify({ models: Object.fromEntries([...own, ...others]) });
}

import { addMilliseconds, now } from '../lib/clock.ts';
import { prepared, run } from '../lib/db.ts';
import { logger } from '../lib/logger.ts';
import { type CatalogModel, MODELS, type ModelSlug } from '../spec/catalog.ts';
import { PROBE_STALE_MS, PROBES_TO_DEGRADE, PROBES_TO_OFFLINE, PROBES_TO_ONLINE } from '../spec/limits.ts';
import type { ModelStatus } from '../spec/states.ts';
import { ModelHealth } from '../tables/ModelHealth.ts';

/** The models on sale with their status, in their order. A model that no worker has probed lately is offline. */
export async function modelsWithStatus(): Promise<(CatalogModel & { status: ModelStatus })[]> {
  const rows = await ModelHealth.query();
  const freshSince = addMilliseconds(now(), -PROBE_STALE_MS);
  const statusOf = new Map(rows.map((row) => [row.model, row.probed_at > freshSince ? row.status : 'offline']));
  return MODELS.map((model) => ({ ...model, status: statusOf.get(model.slug) ?? 'offline' }));
}

/** Degraded after one bad probe, offline after three in a row, online again after two good ones in a row. */
const RECORD = prepared(
  'record_probe',
  `INSERT INTO model_health AS h (model, status, good_probes, bad_probes, probed_at, detail)
   VALUES (:model, CASE WHEN :good THEN 'online' ELSE 'degraded' END, cast(cast(:good AS boolean) AS int),
           1 - cast(cast(:good AS boolean) AS int), :now, :detail)
   ON CONFLICT (model) DO UPDATE SET
     good_probes = CASE WHEN :good THEN h.good_probes + 1 ELSE 0 END,
     bad_probes = CASE WHEN :good THEN 0 ELSE h.bad_probes + 1 END,
     status = CASE
       WHEN :good AND (h.status = 'online' OR h.good_probes + 1 >= ${PROBES_TO_ONLINE}) THEN 'online'
       WHEN NOT :good AND h.bad_probes + 1 >= ${PROBES_TO_OFFLINE} THEN 'offline'
       WHEN NOT :good AND h.bad_probes + 1 >= ${PROBES_TO_DEGRADE} AND h.status = 'online' THEN 'degraded'
       ELSE h.status END,
     probed_at = excluded.probed_at,
     detail = CASE WHEN :good THEN h.detail ELSE excluded.detail END
   RETURNING status`,
);

/** Writes down how a model's upstream answered; a submission that could not be delivered counts as a bad probe. */
export async function recordProbe(model: ModelSlug, problem: string | null): Promise<void> {
  const bindings = { model, good: problem === null, now: now(), detail: problem ?? '' };
  const [row] = await run<{ status: ModelStatus }>(RECORD, bindings);
  if (problem !== null)
    logger.warn({ model, status: row?.status, problem }, 'the upstream does not answer as it should');
}

/** When the model that was left alone longest was last probed; null where one never was. */
export async function lastProbedAt(): Promise<Date | null> {
  const rows = await ModelHealth.query().select('probed_at').orderBy('probed_at');
  return rows.length < MODELS.length ? null : (rows[0]?.probed_at ?? null);
}

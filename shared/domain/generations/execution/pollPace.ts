import { listUpstreamSettings } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { firstUuidAt } from '../../../lib/uuid.ts';
import { findActiveCallbacks } from '../../../queues/callbackActivity.ts';
import { HOUR_MS, MINUTE_MS } from '../../../spec/durations.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';

/*
 * Delays between polls. While the call-backs of an upstream arrive, polls are rare. Otherwise they follow how long
 * recent runs of the model took: hardly any before most runs end, and then often enough.
 */

/**
 * Delay before a poll while the call-backs of the upstream arrive: after a lost one, the next poll finds the result.
 */
const RARE_POLL_DELAY_MS = 8_000;

/** Longest time between two polls, in seconds. */
const GAP_MAX_SECONDS = 30;

/** Polls of the runs of a model at an upstream, in seconds since the submission. */
export interface PollPace {
  /** First poll: most runs take longer. Before it, a poll each half minute finds runs that fail early. */
  first: number;
  /** Time between two polls from then on. */
  gap: number;
  /** Age at which the usual delays apply again. */
  until: number;
}

/** Quantiles of the time from the submission of a run to the poll that found its end, in seconds. */
export interface RunQuantiles {
  shortest: number;
  median: number;
  longest: number;
}

/** Share of the shortest runs before which polls are saved. If a model becomes faster, the first poll soon does. */
const FIRST_SHARE = 0.9;
/** Length of a run up to which the usual delays cannot be shortened: the interface allows a poll each 2 seconds. */
const SHORT_RUN_SECONDS = 10;

/** Returns the pace at which the median delay after the end of a run is at most a tenth of it. */
export function computePace({ shortest, median, longest }: RunQuantiles): PollPace {
  const first = FIRST_SHARE * shortest;
  // Polls of short runs are some of the usual ones: without the first ones, which find nothing.
  return {
    first: Math.max(2, median < SHORT_RUN_SECONDS ? 2 * Math.floor(first / 2) : first),
    gap: Math.min(8, Math.max(2, median / 10)),
    until: longest,
  };
}

type RouteQuantiles = RunQuantiles & { upstream: string; upstream_model: string };

const QUANTILES_FRESH_MS = MINUTE_MS;
/** Newest generations that the quantiles come from, and the fewest of one route. */
const GENERATIONS_READ_MAX = 2_000;
const RUNS_MIN = 20;

/** The primary key is ordered by creation. An output that the response to the submit contained has no poll. */
const READ_QUANTILES = prepared(
  'read_run_quantiles',
  `SELECT upstream, upstream_model, quantiles[1] AS shortest, quantiles[2] AS median, quantiles[3] AS longest
     FROM (SELECT upstream, upstream_model,
                  percentile_cont(ARRAY [0.05, 0.5, 0.95]) WITHIN GROUP (ORDER BY extract(epoch FROM polled_at - submitted_at)) AS quantiles
             FROM (SELECT upstream, upstream_model, status, polled_at, submitted_at
                     FROM generations WHERE uuid >= :first ORDER BY uuid DESC LIMIT ${GENERATIONS_READ_MAX}) newest
            WHERE status = 'succeeded' AND polled_at >= submitted_at
            GROUP BY 1, 2 HAVING count(*) >= ${RUNS_MIN}) routes`,
);

const state = perService(() => ({
  paces: new Map<string, PollPace & { median: number }>(),
  /** The paces as a parameter of {@link POLL_DELAY}. */
  encoded: '[]',
  readAt: Number.NEGATIVE_INFINITY,
}));

/** Returns the paces as this process last read them, and reads them again each minute. Waits for nothing. */
function getPaces() {
  const current = state();
  if (performance.now() - current.readAt >= QUANTILES_FRESH_MS) {
    current.readAt = performance.now();
    readPaces().catch((err: unknown) => logger.debug({ err }, 'durations of runs not read'));
  }
  return current;
}

/** Reads the paces now. */
export async function readPaces(): Promise<void> {
  const current = state();
  const first = firstUuidAt(addMilliseconds(now(), -HOUR_MS));
  const rows = await runStatement<RouteQuantiles>(READ_QUANTILES, { first });
  const paces = rows.map((row) => ({
    upstream: row.upstream,
    upstream_model: row.upstream_model,
    median: row.median,
    ...computePace(row),
  }));
  current.paces = new Map(paces.map(({ upstream, upstream_model: model, ...pace }) => [`${upstream}:${model}`, pace]));
  current.encoded = JSON.stringify(paces);
}

/** Returns the median time of recent runs at an upstream, in seconds; null without enough of them. */
export function getUsualSeconds(upstream: string, upstreamModel: string): number | null {
  const pace = getPaces().paces.get(`${upstream}:${upstreamModel}`);
  return pace === undefined ? null : Math.ceil(pace.median);
}

/** Lists the upstreams whose call-backs arrive. */
export function listUpstreamsWithCallbacks(): string[] {
  const configured = listUpstreamSettings().filter(({ callbacks }) => callbacks !== undefined);
  return [...findActiveCallbacks(configured.map(({ name }) => name))];
}

/** Returns the delay between the submit of a generation and its first poll. */
export function getFirstPollDelayMs(upstream: string, upstreamModel: string): number {
  if (listUpstreamsWithCallbacks().includes(upstream)) return RARE_POLL_DELAY_MS;
  const pace = getPaces().paces.get(`${upstream}:${upstreamModel}`);
  return pace === undefined ? REFRESH_INTERVAL_MS : 1_000 * Math.ceil(Math.min(GAP_MAX_SECONDS, pace.first));
}

const secondsSince = (column: string) => `cast(extract(epoch FROM cast(:now AS timestamptz) - ${column}) AS float8)`;

/** A fifth of the age, at least 2 and at most 8 seconds. */
const USUAL_DELAY = `least(8, greatest(2, ${secondsSince('g.created_at')} / 5))`;

/**
 * Delay after a poll of a row `g`, with the parameters of {@link getPollDelayBindings}. After a request to cancel,
 * which polls carry out, it is the usual one.
 */
export const POLL_DELAY = `make_interval(secs => CASE
         WHEN g.cancel_requested_at IS NOT NULL THEN ${USUAL_DELAY}
         WHEN g.upstream = ANY (cast(:rare AS text[])) THEN ${RARE_POLL_DELAY_MS / 1_000}
         ELSE coalesce(
           (SELECT CASE WHEN age < pace.first THEN least(${GAP_MAX_SECONDS}, greatest(2, pace.first - age))
                        WHEN age < pace.until THEN pace.gap END
              FROM json_to_recordset(:paces) AS pace (upstream text, upstream_model text, first float8, gap float8, until float8),
                   ${secondsSince('g.submitted_at')} AS age
             WHERE pace.upstream = g.upstream AND pace.upstream_model = g.upstream_model),
           ${USUAL_DELAY}) END)`;

/** Returns the parameters of {@link POLL_DELAY}, apart from `now`. */
export function getPollDelayBindings(): { rare: string[]; paces: string } {
  return { rare: listUpstreamsWithCallbacks(), paces: getPaces().encoded };
}

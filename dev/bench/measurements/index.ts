import { measureCatalog } from './catalog.ts';
import { measureCreates } from './create.ts';
import { measureCreditPeriods } from './creditPeriods.ts';
import { measureDeliveries } from './deliveries.ts';
import { measureGrowth } from './growth.ts';
import { measureIsolation } from './isolation.ts';
import { measureLimits } from './limits.ts';
import { measureLoad } from './load.ts';
import { measureMcp } from './mcp.ts';
import { measurePages } from './pages.ts';
import { measurePartitioned } from './partitioned.ts';
import { measurePipeline } from './pipeline.ts';
import { measureReads } from './read.ts';
import { measureStart } from './start.ts';
import { measureThumbnails } from './thumbnails.ts';
import { measureTimeToResult } from './timeToResult.ts';
import { measureTokens } from './oauthTokens.ts';
import { measureUpstreamIsolation } from './upstreamIsolation.ts';
import { measureWebhooks } from './webhooks.ts';
import type { BenchEnvironment } from '../environment.ts';
import type { FigureName } from '../options.ts';
import type { Measurement } from '../report.ts';

/** The measurements in the order in which they run, with the figures that each one gives. */
export const MEASUREMENT_RUNNERS: [FigureName[], (stage: BenchEnvironment) => Promise<Measurement[]>][] = [
  [['create', 'latency', 'hot'], measureCreates],
  [['read'], measureReads],
  [['load'], measureLoad],
  [['pipeline'], measurePipeline],
  [['result'], measureTimeToResult],
  [['growth'], measureGrowth],
  [['pages'], measurePages],
  [['grants'], measureCreditPeriods],
  [['isolation'], measureIsolation],
  [['isolation'], measureUpstreamIsolation],
  [['webhooks'], measureWebhooks],
  [['deliveries'], measureDeliveries],
  [['tokens'], measureTokens],
  [['mcp'], measureMcp],
  [['catalog'], measureCatalog],
  [['limits'], measureLimits],
  [['thumbnails'], measureThumbnails],
  [['start'], measureStart],
  [['partitioned'], measurePartitioned],
];

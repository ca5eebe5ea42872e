import type { Config } from '../../shared/lib/config.ts';
import { addressOf, type Part } from './summary.ts';

/** The programs that tell metrics. One port is one process': the worker's is the one after the API's. */
const OFFSETS = { api: 0, worker: 1 } as const;

type MetricsConfig = Pick<Config, 'METRICS_PORT' | 'METRICS_HOST'>;

/** The variables that give a program a port of its own for its metrics; 0, any free one, needs none. */
export function metricsVariables(program: keyof typeof OFFSETS, { METRICS_PORT }: MetricsConfig): NodeJS.ProcessEnv {
  return METRICS_PORT === undefined ? {} : { METRICS_PORT: String(portOf(program, METRICS_PORT)) };
}

/**
 * Makes sure that the worker has a port, too.
 * @throws Error that names METRICS_PORT.
 */
export function requireMetricsPorts({ METRICS_PORT, PORT }: Pick<Config, 'METRICS_PORT' | 'PORT'>): void {
  if (METRICS_PORT === 65_535) {
    throw new Error(
      "METRICS_PORT must be at most 65534: the API's metrics are there, the worker's on the port after it.",
    );
  }
  if (METRICS_PORT === undefined || METRICS_PORT === 0) return;
  if (METRICS_PORT === PORT || METRICS_PORT + 1 === PORT) {
    throw new Error(
      `METRICS_PORT ${METRICS_PORT} and the port after it must not be PORT, which is ${PORT}: set another.`,
    );
  }
}

/** A line for the metrics of each program; none without METRICS_PORT. */
export function describeMetrics({ METRICS_PORT, METRICS_HOST }: MetricsConfig): Part[] {
  if (METRICS_PORT === undefined) return [];
  return (['worker', 'api'] as const).map((program) => {
    const port = portOf(program, METRICS_PORT);
    const address = port === 0 ? '-' : `${addressOf(METRICS_HOST, port)}/metrics`;
    const where = port === 0 ? 'on a free port, which its log names' : `listening on ${METRICS_HOST}:${port}`;
    return ['Metrics', program, address, where];
  });
}

function portOf(program: keyof typeof OFFSETS, first: number): number {
  return first === 0 ? 0 : first + OFFSETS[program];
}

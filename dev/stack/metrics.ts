import { EventEmitter, once } from 'node:events';
import type { Config } from '../../shared/lib/config.ts';
import { addressOf, type Part } from './summary.ts';

/** The programs that tell metrics. One port is one process': the worker's is the one after the API's. */
const OFFSETS = { api: 0, worker: 1 } as const;

const LONGEST_REPORT_MS = 5_000;

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

/** The ports on which the programs serve their metrics, as their logs report them. */
export interface MetricsPorts {
  /** Reads a line of a program's log. */
  read(program: string, line: string): void;
  /** Resolves once every program has reported its port, or after some seconds without. */
  known(): Promise<Partial<Record<keyof typeof OFFSETS, number>>>;
}

export function collectMetricsPorts({ METRICS_PORT }: MetricsConfig): MetricsPorts {
  const ports: Partial<Record<string, number>> = {};
  const reports = new EventEmitter();
  const isComplete = () =>
    METRICS_PORT === undefined || Object.keys(OFFSETS).every((name) => ports[name] !== undefined);
  return {
    read: (program, line) => {
      const port = /"port":(\d+)/.exec(line)?.[1];
      if (port === undefined || !line.includes('"msg":"metrics listening"')) return;
      ports[program] = Number(port);
      reports.emit('port');
    },
    known: async () => {
      const signal = AbortSignal.timeout(LONGEST_REPORT_MS);
      while (!isComplete() && !signal.aborted) await once(reports, 'port', { signal }).catch(() => {});
      return ports;
    },
  };
}

/** A line for the metrics of each program; none without METRICS_PORT. */
export async function describeMetrics(
  { METRICS_PORT, METRICS_HOST }: MetricsConfig,
  ports: MetricsPorts,
): Promise<Part[]> {
  if (METRICS_PORT === undefined) return [];
  const known = await ports.known();
  return (['worker', 'api'] as const).map((program) => {
    const port = known[program];
    if (port === undefined) return ['Metrics', program, '-', 'not listening yet: see its log'];
    const note = METRICS_PORT === 0 ? ', until the process restarts' : '';
    return [
      'Metrics',
      program,
      `${addressOf(METRICS_HOST, port)}/metrics`,
      `listening on ${METRICS_HOST}:${port}${note}`,
    ];
  });
}

function portOf(program: keyof typeof OFFSETS, first: number): number {
  return first === 0 ? 0 : first + OFFSETS[program];
}

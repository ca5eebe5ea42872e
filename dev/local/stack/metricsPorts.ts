import { EventEmitter, once } from 'node:events';
import type { Config } from '../../../shared/lib/config.ts';
import { formatAddress, type SummaryRow } from './startupSummary.ts';

/** The programs with metrics. Each process needs a port of its own: the worker uses the one after the API's. */
const PORT_OFFSETS = { api: 0, worker: 1 } as const;

const REPORT_TIMEOUT_MS = 5_000;

type MetricsConfig = Pick<Config, 'METRICS_PORT' | 'METRICS_HOST'>;

/** Variables that give a program its metrics port; 0 (any free port) needs none. */
export function buildMetricsEnv(
  program: keyof typeof PORT_OFFSETS,
  { METRICS_PORT }: MetricsConfig,
): NodeJS.ProcessEnv {
  return METRICS_PORT === undefined ? {} : { METRICS_PORT: String(getMetricsPort(program, METRICS_PORT)) };
}

/**
 * Checks that the worker has a port, too.
 * @throws Error with the name METRICS_PORT.
 */
export function validateMetricsPorts({ METRICS_PORT, PORT }: Pick<Config, 'METRICS_PORT' | 'PORT'>): void {
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

/** The metrics ports of the programs, as their logs report them. */
export interface MetricsPorts {
  /** Reads a line of a program's log. */
  readLogLine(program: string, line: string): void;
  /** Resolves once every program has reported its port, or after a time limit of some seconds. */
  waitForPorts(): Promise<Partial<Record<keyof typeof PORT_OFFSETS, number>>>;
}

export function collectMetricsPorts({ METRICS_PORT }: MetricsConfig): MetricsPorts {
  const ports: Partial<Record<string, number>> = {};
  const reports = new EventEmitter();
  const isComplete = () =>
    METRICS_PORT === undefined || Object.keys(PORT_OFFSETS).every((name) => ports[name] !== undefined);
  return {
    readLogLine: (program, line) => {
      const port = /"port":(\d+)/.exec(line)?.[1];
      if (port === undefined || !line.includes('"msg":"metrics listening"')) return;
      ports[program] = Number(port);
      reports.emit('port');
    },
    waitForPorts: async () => {
      const signal = AbortSignal.timeout(REPORT_TIMEOUT_MS);
      while (!isComplete() && !signal.aborted) await once(reports, 'port', { signal }).catch(() => {});
      return ports;
    },
  };
}

/** Formats a line for the metrics of each program; none without METRICS_PORT. */
export async function formatMetricsRows(
  { METRICS_PORT, METRICS_HOST }: MetricsConfig,
  ports: MetricsPorts,
): Promise<SummaryRow[]> {
  if (METRICS_PORT === undefined) return [];
  const known = await ports.waitForPorts();
  return (['worker', 'api'] as const).map((program) => {
    const port = known[program];
    if (port === undefined) return ['Metrics', program, '-', 'not listening yet: see its log'];
    const note = METRICS_PORT === 0 ? ', until the process restarts' : '';
    return [
      'Metrics',
      program,
      `${formatAddress(METRICS_HOST, port)}/metrics`,
      `listening on ${METRICS_HOST}:${port}${note}`,
    ];
  });
}

function getMetricsPort(program: keyof typeof PORT_OFFSETS, first: number): number {
  return first === 0 ? 0 : first + PORT_OFFSETS[program];
}

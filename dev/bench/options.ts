import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseCommandLine } from '../../shared/lib/commandLine.ts';

export const FIGURES = [
  'create',
  'latency',
  'hot',
  'read',
  'load',
  'pipeline',
  'result',
  'growth',
  'pages',
  'grants',
  'isolation',
  'webhooks',
  'deliveries',
  'tokens',
  'mcp',
  'catalog',
  'limits',
  'thumbnails',
  'start',
  'partitioned',
] as const;
export type FigureName = (typeof FIGURES)[number];

/** Figures of a run without `--only`. Partitions are an option of an installation, and their seed takes minutes. */
const DEFAULT_FIGURES = FIGURES.filter((name) => name !== 'partitioned');

/** Figures that `--against` compares with another version. */
export const VERSION_FIGURES = ['create', 'read', 'pipeline', 'mcp'] as const satisfies readonly FigureName[];

/** Options of `npm run bench`, and the size of its workloads. */
export interface BenchOptions {
  only: readonly FigureName[];
  /** Another checkout of the project, with a build, to compare this one with. */
  against: string | undefined;
  quick: boolean;
  /** Uses the existing build. */
  isBuilt: boolean;
  /** Path of the JSON output; undefined writes it next to the other output of the run. */
  json: string | undefined;
  /** A folder for CPU profiles of the service's processes. Profiled runs give somewhat low figures. */
  profile: string | undefined;
  rounds: number;
  roundMs: number;
  accounts: number;
  /** Ledger entries of each database of `partitioned`; undefined: one for each generation and grant. */
  ledgerRows: number | undefined;
  /** Generations in the small and the large database that growth compares. */
  growth: { small: number; large: number; requests: number };
  /** Number of MCP sessions to open. */
  mcp: { sessions: number };
  /** Number of thumbnails of each format in a round. */
  thumbnails: { repetitions: number };
  /** Number of accounts that are due at once. */
  grants: { accounts: number };
  /** Accounts that are due while creates continue; rounds with and without their renewal, and the time of each. */
  isolation: { accounts: number; rounds: number; roundMs: number };
  /** Rounds with and without each fault of another upstream, and for how long creates are sent in each. */
  upstreamIsolation: { rounds: number; roundMs: number };
  /** Rounds of latencies under load; times to find the capacity, and at each share of it. */
  load: { rounds: number; capacityMs: number; loadMs: number };
  /** Webhooks of a round, and for how long and how often the delay of events at a constant rate is measured. */
  deliveries: { events: number; steadyMs: number; steadyRounds: number };
  /** Time for which creates are sent at each rate. */
  timeToResult: { warmUpMs: number; durationMs: number };
  pipeline: { rounds: number; leastInFlight: number; mostInFlight: number; bareMs: number };
}

const FULL_RUN = {
  rounds: 5,
  roundMs: 3_000,
  accounts: 1_000,
  growth: { small: 10_000, large: 1_000_000, requests: 600 },
  grants: { accounts: 100_000 },
  isolation: { accounts: 1_000_000, rounds: 5, roundMs: 20_000 },
  upstreamIsolation: { rounds: 3, roundMs: 8_000 },
  load: { rounds: 5, capacityMs: 1_500, loadMs: 4_000 },
  mcp: { sessions: 10_000 },
  thumbnails: { repetitions: 20 },
  deliveries: { events: 10_000, steadyMs: 20_000, steadyRounds: 5 },
  timeToResult: { warmUpMs: 5_000, durationMs: 20_000 },
  pipeline: { rounds: 3, leastInFlight: 500, mostInFlight: 8_000, bareMs: 6_000 },
};

/** Enough to see that everything works, and too little for reliable figures. */
const QUICK_RUN = {
  rounds: 2,
  roundMs: 400,
  accounts: 200,
  growth: { small: 1_000, large: 20_000, requests: 60 },
  grants: { accounts: 10_000 },
  isolation: { accounts: 10_000, rounds: 1, roundMs: 2_000 },
  upstreamIsolation: { rounds: 1, roundMs: 2_000 },
  load: { rounds: 1, capacityMs: 300, loadMs: 500 },
  mcp: { sessions: 500 },
  thumbnails: { repetitions: 2 },
  deliveries: { events: 500, steadyMs: 2_000, steadyRounds: 1 },
  timeToResult: { warmUpMs: 2_000, durationMs: 4_000 },
  pipeline: { rounds: 1, leastInFlight: 250, mostInFlight: 500, bareMs: 1_000 },
};

export const USAGE = `npm run bench -- [options]

Measures the built service against its baselines, and prints how the ratios compare with the targets. Builds dist, and
starts servers of its own. A full run takes about ten minutes.

  --quick             a short run of each, as a smoke test; too short for reliable figures
  --only <figures>    comma-separated: ${FIGURES.join(', ')}; all but partitioned by default
  --against <folder>  compare this version with another one, by ${VERSION_FIGURES.join(', ')}: a checkout in which
                      \`npm run build\` has run; each version has a database that it migrates itself
  --ledger-rows <n>   with --only partitioned: ledger entries of each of its two databases, in addition to 10^6
                      generations; 10^8 take an hour and 60 GB on the disk
  --json <file>       write the results to this file
  --profile <folder>  write CPU profiles of the processes to this folder; lowers the figures
  --built             use the existing build`;

/**
 * Reads the command line.
 * @throws Error with a sentence for the user.
 */
export function parseBenchOptions(args: string[]): BenchOptions | 'help' {
  const { values } = parseCommandLine(args, {
    only: { type: 'string' },
    against: { type: 'string' },
    'ledger-rows': { type: 'string' },
    quick: { type: 'boolean', default: false },
    built: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'string' },
  });
  return values.help ? 'help' : buildOptions(values);
}

function buildOptions(values: {
  only?: string;
  against?: string;
  'ledger-rows'?: string;
  quick: boolean;
  built: boolean;
  json?: string;
  profile?: string;
}): BenchOptions {
  const against = values.against === undefined ? undefined : parseCheckout(values.against);
  const defaults = against === undefined ? DEFAULT_FIGURES : VERSION_FIGURES;
  const only = values.only === undefined ? defaults : values.only.split(',').map(parseFigureName);
  const other = only.find((name) => !VERSION_FIGURES.some((known) => known === name));
  if (against !== undefined && other !== undefined)
    throw new Error(`--against does not compare ${other}, only: ${VERSION_FIGURES.join(', ')}.`);
  const { quick, built: isBuilt, json, profile } = values;
  const sizes = quick ? QUICK_RUN : FULL_RUN;
  const ledgerRows = parseLedgerRows(values['ledger-rows'], only);
  // A thousand entries per account, as after some years of use.
  const accounts = Math.max(sizes.accounts, Math.floor((ledgerRows ?? 0) / MOST_ENTRIES_PER_ACCOUNT));
  return { only, against, quick, isBuilt, json, profile, ...sizes, accounts, ledgerRows };
}

const MOST_ENTRIES_PER_ACCOUNT = 1_000;

function parseLedgerRows(text: string | undefined, only: readonly FigureName[]): number | undefined {
  if (text === undefined) return undefined;
  const rows = Number(text);
  if (!Number.isInteger(rows) || rows < 1) throw new Error(`--ledger-rows ${text}: use a positive whole number.`);
  if (only.length !== 1 || only[0] !== 'partitioned') throw new Error('--ledger-rows needs --only partitioned.');
  return rows;
}

function parseCheckout(text: string): string {
  const folder = resolve(text);
  if (!existsSync(join(folder, 'dist/api/main.js')))
    throw new Error(`--against ${text}: has no build. Run \`npm run build\` there.`);
  return folder;
}

function parseFigureName(name: string): FigureName {
  const figure = FIGURES.find((known) => known === name.trim());
  if (figure === undefined) throw new Error(`--only ${name}: unknown figure. Known: ${FIGURES.join(', ')}.`);
  return figure;
}

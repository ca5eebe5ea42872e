import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { exitWithUsageError, readCommandLine } from '../../shared/lib/commandLine.ts';

/**
 * The files of `measurements` in the order in which they run, with the names by which `--only` selects their figures.
 */
export const MEASUREMENTS = {
  creates: ['create', 'latency', 'hot'],
  reads: ['read'],
  load: ['load'],
  pipeline: ['pipeline'],
  timeToResult: ['result'],
  growth: ['growth', 'pages'],
  creditPeriods: ['grants', 'isolation'],
  upstreamIsolation: ['isolation'],
  paymentWebhooks: ['webhooks'],
  deliveries: ['deliveries'],
  tokens: ['tokens'],
  mcp: ['mcp'],
  catalog: ['catalog'],
  limits: ['limits'],
  thumbnails: ['thumbnails'],
  start: ['start'],
  partitioned: ['partitioned'],
} as const;
export type FigureName = (typeof MEASUREMENTS)[keyof typeof MEASUREMENTS][number];

const FIGURES: readonly FigureName[] = [...new Set(Object.values(MEASUREMENTS).flat())];

/** Figures of a run without `--only`. Partitions are an option of an installation, and their seed takes minutes. */
const DEFAULT_FIGURES = FIGURES.filter((name) => name !== 'partitioned');

/** Figures that `--against` compares with another version. */
const VERSION_FIGURES: readonly FigureName[] = ['create', 'read', 'pipeline', 'mcp'];

const FULL_RUN = {
  rounds: 5,
  roundMs: 3_000,
  accounts: 1_000,
  growth: { small: 10_000, large: 1_000_000 },
  /** Requests of one client that two databases take in turn, each in a round of its own. */
  alone: { warmUpMs: 1_000, rounds: 600 },
  /** Accounts that are due at once. */
  grants: { accounts: 100_000 },
  /** Accounts that are due while creates continue. */
  isolation: { accounts: 1_000_000, rounds: 5, roundMs: 20_000 },
  upstreamIsolation: { rounds: 3, roundMs: 8_000 },
  /** Times to find the capacity, and at each share of it. */
  load: { rounds: 5, capacityMs: 1_500, loadMs: 4_000 },
  mcp: { sessions: 10_000 },
  /** Thumbnails of each format in a round. */
  thumbnails: { repetitions: 20 },
  /** Webhooks of a round; and for how long and how often the delay of events at a constant rate is measured. */
  deliveries: { events: 10_000, steadyMs: 20_000, steadyRounds: 5 },
  timeToResult: { warmUpMs: 5_000, durationMs: 20_000 },
  pipeline: { rounds: 3, leastInFlight: 500, mostInFlight: 8_000, bareMs: 6_000 },
};

/** Enough to see that everything works, and too little for reliable figures. */
const QUICK_RUN: typeof FULL_RUN = {
  rounds: 2,
  roundMs: 400,
  accounts: 200,
  growth: { small: 1_000, large: 20_000 },
  alone: { warmUpMs: 200, rounds: 60 },
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

/** Options of `npm run bench`, and the size of its workloads. */
export interface BenchOptions extends Readonly<typeof FULL_RUN> {
  only: readonly FigureName[];
  /** Another checkout of the project, with a build, to compare this one with. */
  against: string | undefined;
  quick: boolean;
  /** Uses the existing build. */
  isBuilt: boolean;
  /** Path of the JSON output; undefined writes it to a new folder. */
  json: string | undefined;
  /** A folder for CPU profiles of the service's processes. Profiled runs give somewhat low figures. */
  profile: string | undefined;
  /** Ledger entries of each database of `partitioned`; undefined: one for each generation and grant. */
  ledgerRows: number | undefined;
}

const USAGE = `npm run bench -- [options]

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

/** Ledger entries of an account after some years of use. */
const MOST_ENTRIES_PER_ACCOUNT = 1_000;

/** Reads the options of the process; exits for `--help` and for invalid ones. */
export function readBenchOptions(): BenchOptions {
  const values = readCommandLine('npm run bench', USAGE, {
    only: { type: 'string' },
    against: { type: 'string' },
    'ledger-rows': { type: 'string' },
    quick: { type: 'boolean', default: false },
    built: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'string' },
  });
  try {
    const { quick, built: isBuilt, json, profile } = values;
    const against = values.against === undefined ? undefined : parseCheckout(values.against);
    const only = parseFigures(values.only, against !== undefined);
    const ledgerRows = parseLedgerRows(values['ledger-rows'], only);
    const sizes = quick ? QUICK_RUN : FULL_RUN;
    const accounts = Math.max(sizes.accounts, Math.floor((ledgerRows ?? 0) / MOST_ENTRIES_PER_ACCOUNT));
    return { ...sizes, accounts, only, against, quick, isBuilt, json, profile, ledgerRows };
  } catch (error) {
    return exitWithUsageError('npm run bench', error as Error);
  }
}

function parseFigures(text: string | undefined, comparesVersions: boolean): readonly FigureName[] {
  const known = comparesVersions ? VERSION_FIGURES : FIGURES;
  if (text === undefined) return comparesVersions ? VERSION_FIGURES : DEFAULT_FIGURES;
  return text.split(',').map((name) => {
    const figure = FIGURES.find((of) => of === name.trim());
    if (figure === undefined) throw new Error(`--only ${name}: unknown figure. Known: ${FIGURES.join(', ')}.`);
    if (!known.includes(figure)) throw new Error(`--against does not compare ${figure}, only: ${known.join(', ')}.`);
    return figure;
  });
}

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

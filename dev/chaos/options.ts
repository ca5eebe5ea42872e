import { parseCommandLine } from '../../shared/lib/commandLine.ts';

/** Options of `npm run chaos`. */
export interface ChaosOptions {
  /** The first seed, and the number of seeds: each is a run of its own. */
  seed: number;
  seeds: number;
  /** Duration of the fault phase of each run, in seconds. */
  seconds: number;
  accounts: number;
  clients: number;
  /** No faults, to measure throughput and memory growth. */
  isCalm: boolean;
  /** Keeps logs and data of runs without violations, too. */
  keepsFiles: boolean;
  /** Prints each fault when it is injected. */
  isVerbose: boolean;
  /** Path of the JSON results. */
  json: string | undefined;
}

export const USAGE = `npm run chaos -- [options]

Runs the service with clients, injects faults according to a seed, removes them, and checks that nothing was lost.
Rebuilds dist. A run takes about a minute longer than its fault phase; as root it also mounts a small disk in memory in
order to fill it. Exits with 0 without violations, with 1 after a violation (the report names the folder of the logs), and
with 2 for a usage error.

  --seed <number>      which faults are injected when; default 1
  --seeds <count>      number of runs, with this seed and the following ones; default 1
  --minutes <number>   length of the fault phase of each run; default 2
  --accounts <count>   number of customers; default 24
  --clients <count>    number of concurrent clients; default 10
  --calm               no faults: a soak test
  --keep               keep logs even without violations
  --verbose            print each fault
  --json <file>        write the results to this file`;

/**
 * Reads the command line.
 * @throws Error with a sentence for the user.
 */
export function parseChaosOptions(args: string[]): ChaosOptions | 'help' {
  const { values } = parseCommandLine(args, {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '2' },
    accounts: { type: 'string', default: '24' },
    clients: { type: 'string', default: '10' },
    calm: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    json: { type: 'string' },
  });
  if (values.help) return 'help';
  return {
    seed: parseIntegerOption('seed', values.seed, 0, 2 ** 31),
    seeds: parseIntegerOption('seeds', values.seeds, 1, 1_000),
    seconds: Math.round(60 * parseNumberOption('minutes', values.minutes, 0.1, 24 * 60)),
    accounts: parseIntegerOption('accounts', values.accounts, 2, 1_000),
    clients: parseIntegerOption('clients', values.clients, 1, 200),
    isCalm: values.calm,
    keepsFiles: values.keep,
    isVerbose: values.verbose,
    json: values.json,
  };
}

export function parseNumberOption(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new Error(`--${name} must be a number from ${least} to ${most}, not "${text}".`);
}

export function parseIntegerOption(name: string, text: string, least: number, most: number): number {
  const value = parseNumberOption(name, text, least, most);
  if (Number.isInteger(value)) return value;
  throw new Error(`--${name} must be a whole number, not "${text}".`);
}

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

Runs the service with clients, breaks it as a seed says, heals it, and checks that nothing was lost. Builds dist anew, so
stop what runs from it. A run takes about a minute longer than it breaks things; as root it mounts a small disk in memory
for the time, to fill it. Ends with 0 where nothing was wrong, 1 where something was (then its logs are kept, in the folder
that the report names), 2 where it was called wrongly.

  --seed <number>      which faults, and when; 1 unless said
  --seeds <count>      so many runs, with this seed and those after it; 1 unless said
  --minutes <number>   how long things are broken in each run; 2 unless said
  --accounts <count>   customers; 24 unless said
  --clients <count>    at work at the same time; 10 unless said
  --calm               no faults: a soak
  --keep               keep logs also where nothing was wrong
  --verbose            tell of each fault as it is done
  --json <file>        write the results there`;

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

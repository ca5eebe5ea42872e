import { readCommandLine } from '../../../shared/lib/commandLine.ts';
import { readInteger, readNumber } from '../options.ts';

const COMMAND = 'npm run chaos:seeded-bugs';
const USAGE = `npm run chaos:seeded-bugs -- [options]

Builds the service with one known bug at a time and checks that chaos detects it. Exits with 1 if a bug is not detected.

  --seeds <count>      try at most this many seeds for each bug; default 5
  --minutes <number>   length of the fault phase of each run; default 1
  --only <text>        only bugs whose name contains this text`;

const values = readCommandLine(COMMAND, USAGE, {
  seeds: { type: 'string', default: '5' },
  minutes: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
});
const seeds = readInteger(COMMAND, 'seeds', values.seeds, 1, 1_000);
const minutes = readNumber(COMMAND, 'minutes', values.minutes, 0.1, 24 * 60);
const { tryBugs } = await import('./tryBugs.ts');
await tryBugs(seeds, 60 * minutes, values.only);
process.exit();

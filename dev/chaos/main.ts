import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { readInteger, readNumber } from './options.ts';

const COMMAND = 'npm run chaos';
const USAGE = `npm run chaos -- [options]

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
  --verbose            print each fault`;

const values = readCommandLine(COMMAND, USAGE, {
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '1' },
  minutes: { type: 'string', default: '2' },
  accounts: { type: 'string', default: '24' },
  clients: { type: 'string', default: '10' },
  calm: { type: 'boolean', default: false },
  verbose: { type: 'boolean', default: false },
});
await runSeeds();
// Broken connections would keep the process alive.
process.exit();

async function runSeeds(): Promise<void> {
  const first = readInteger(COMMAND, 'seed', values.seed, 0, 2 ** 31);
  const seeds = readInteger(COMMAND, 'seeds', values.seeds, 1, 1_000);
  const options = {
    seconds: Math.round(60 * readNumber(COMMAND, 'minutes', values.minutes, 0.1, 24 * 60)),
    accounts: readInteger(COMMAND, 'accounts', values.accounts, 2, 1_000),
    clients: readInteger(COMMAND, 'clients', values.clients, 1, 200),
  };
  const [{ buildDist, ROOT }, { formatOutcomeTable, formatReport }, { runChaos }] = await Promise.all([
    import('../local/environment/build.ts'),
    import('./report.ts'),
    import('./runChaos.ts'),
  ]);
  writeLine('- building');
  await buildDist();
  const outcomes = [];
  for (let seed = first; seed < first + seeds; seed += 1) {
    const outcome = await runChaos({
      ...options,
      seed,
      isCalm: values.calm,
      build: ROOT,
      log: (line) => writeLine(`- ${line}`),
      ...(values.verbose ? { logFault: writeLine } : {}),
    });
    outcomes.push(outcome);
    formatReport(outcome).forEach(writeLine);
  }
  if (outcomes.length > 1) ['', ...formatOutcomeTable(outcomes)].forEach(writeLine);
  if (outcomes.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

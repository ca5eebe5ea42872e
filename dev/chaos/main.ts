import { writeFileSync } from 'node:fs';
import { exitWithUsageError } from '../../shared/lib/commandLine.ts';
import { type ChaosOptions, parseChaosOptions, USAGE } from './options.ts';
import type { ChaosOutcome } from './runChaos.ts';

/** `npm run chaos`: exits with 0 if no invariant was violated, 1 if one was, 2 for a usage error. */
const options = parseOptionsOrExit(process.argv.slice(2));
if (options === 'help') writeLine(USAGE);
else await runSeeds(options);
// Broken connections would keep the process alive.
process.exit();

async function runSeeds({ seed, seeds, json, isVerbose, ...others }: ChaosOptions): Promise<void> {
  const [{ buildDist, ROOT }, { formatOutcomeTable, formatReport }, { runChaos }] = await Promise.all([
    import('../local/environment/build.ts'),
    import('./report.ts'),
    import('./runChaos.ts'),
  ]);
  writeLine('- building');
  await buildDist();
  const outcomes: ChaosOutcome[] = [];
  for (let number = seed; number < seed + seeds; number += 1) {
    const outcome = await runChaos({
      ...others,
      seed: number,
      build: ROOT,
      sql: [],
      log: (line) => writeLine(`- ${line}`),
      logFault: isVerbose ? writeLine : () => {},
    });
    outcomes.push(outcome);
    for (const line of formatReport(outcome)) writeLine(line);
  }
  if (outcomes.length > 1) for (const line of ['', ...formatOutcomeTable(outcomes)]) writeLine(line);
  if (json !== undefined) writeFileSync(json, JSON.stringify(outcomes.map(toJson), null, 2));
  if (outcomes.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

function toJson(outcome: ChaosOutcome): unknown {
  return JSON.parse(
    JSON.stringify(outcome, (_, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value)),
  );
}

function parseOptionsOrExit(args: string[]): ChaosOptions | 'help' {
  try {
    return parseChaosOptions(args);
  } catch (error) {
    return exitWithUsageError('npm run chaos', error as Error);
  }
}

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

import { writeFileSync } from 'node:fs';
import { endCalledWrongly } from '../../shared/lib/commandLine.ts';
import { build, ROOT } from '../servers/builtService.ts';
import { type ChaosOptions, parseOptions, USAGE } from './options.ts';
import { report, tableOf } from './report.ts';
import { type Outcome, run } from './run.ts';

/** `npm run chaos`: ends with 0 where no invariant was broken, 1 where one was, 2 where it was called wrongly. */
const options = read(process.argv.slice(2));
if (options === 'help') say(USAGE);
else await perform(options);
// Whatever a broken connection still waits for.
process.exit();

async function perform({ seed, seeds, json, isVerbose, ...others }: ChaosOptions): Promise<void> {
  say('- building');
  await build();
  const outcomes: Outcome[] = [];
  for (let number = seed; number < seed + seeds; number += 1) {
    const outcome = await run({
      ...others,
      seed: number,
      build: ROOT,
      sql: [],
      say: (line) => say(`- ${line}`),
      sayFault: isVerbose ? say : () => {},
    });
    outcomes.push(outcome);
    for (const line of report(outcome)) say(line);
  }
  if (outcomes.length > 1) for (const line of ['', ...tableOf(outcomes)]) say(line);
  if (json !== undefined) writeFileSync(json, JSON.stringify(outcomes.map(asJson), null, 2));
  if (outcomes.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

function asJson(outcome: Outcome): unknown {
  return JSON.parse(
    JSON.stringify(outcome, (_, value: unknown) => (value instanceof Map ? Object.fromEntries(value) : value)),
  );
}

function read(args: string[]): ChaosOptions | 'help' {
  try {
    return parseOptions(args);
  } catch (error) {
    return endCalledWrongly('npm run chaos', error as Error);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

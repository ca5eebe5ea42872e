import { rmSync } from 'node:fs';
import { endCalledWrongly, readCommandLine } from '../../../shared/lib/commandLine.ts';
import type { Violation } from '../../../shared/domain/invariants/invariant.ts';
import { build } from '../../servers/builtService.ts';
import { numberFrom, wholeNumber } from '../options.ts';
import { run } from '../run.ts';
import { type Bug, BUGS } from './bugs.ts';
import { plantIn } from './copy.ts';

const USAGE = `npm run chaos:planted -- [options]

Plants one bug after the other into a copy of the service, and sees whether chaos finds it. Ends with 1 where one is not found.

  --seeds <count>      how many seeds to try each with at most; 5 unless said
  --minutes <number>   how long each of these runs breaks things; 1 unless said
  --only <text>        those whose name contains it`;

interface Found {
  bug: Bug;
  /** Of the run that found it; null: none did. */
  seed: number | null;
  /** How long that run took to, from its start. */
  seconds: number;
  by: string[];
}

const values = readCommandLine('npm run chaos:planted', USAGE, {
  seeds: { type: 'string', default: '5' },
  minutes: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
});
const [seeds, minutes] = numbersOrEnd();
await perform(seeds, 60 * minutes, values.only);
process.exit();

function numbersOrEnd(): [seeds: number, minutes: number] {
  try {
    return [wholeNumber('seeds', values.seeds, 1, 1_000), numberFrom('minutes', values.minutes, 0.1, 24 * 60)];
  } catch (error) {
    return endCalledWrongly('npm run chaos:planted', error as Error);
  }
}

async function perform(seeds: number, seconds: number, only: string): Promise<void> {
  await build();
  const found: Found[] = [];
  for (const bug of BUGS.filter(({ name }) => name.includes(only))) {
    const result = await look(bug, seeds, seconds);
    found.push(result);
    say(rowOf(result));
  }
  say('');
  for (const line of ['| Planted | Found | By |', '|---|---|---|', ...found.map(rowOf)]) say(line);
  if (found.some(({ seed }) => seed === null)) process.exitCode = 1;
}

async function look(bug: Bug, seeds: number, seconds: number): Promise<Found> {
  const copy = plantIn(bug);
  try {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const startedAt = performance.now();
      const by = await findWith(bug, copy.folder, seed, seconds);
      const took = Math.round((performance.now() - startedAt) / 1_000);
      if (by.length > 0) return { bug, seed, seconds: took, by };
      say(`- ${bug.name}: not by seed ${seed}, in ${took} s`);
    }
    return { bug, seed: null, seconds: 0, by: [] };
  } finally {
    copy.remove();
  }
}

/** The invariants that found it. */
async function findWith(bug: Bug, folder: string, seed: number, seconds: number): Promise<string[]> {
  const isAbout = ({ invariant, subject, detail }: Violation) =>
    bug.foundBy.includes(invariant) && bug.saying?.test(`${subject}: ${detail}`) !== false;
  const { violations, folder: logs } = await run({
    seed,
    seconds,
    accounts: 16,
    clients: 8,
    isCalm: false,
    keeps: false,
    build: folder,
    sql: bug.sql ?? [],
    isEnough: isAbout,
    say: () => {},
    sayFault: () => {},
  });
  // What it says is expected here.
  if (logs !== null) rmSync(logs, { recursive: true, force: true });
  return [...new Set(violations.filter(isAbout).map(({ invariant }) => invariant))];
}

function rowOf({ bug, seed, seconds, by }: Found): string {
  return `| ${bug.name} | ${seed === null ? 'NO' : `by seed ${seed}, in ${seconds} s`} | ${by.join(', ')} |`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

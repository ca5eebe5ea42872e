import { rmSync } from 'node:fs';
import { exitWithUsageError, readCommandLine } from '../../../shared/lib/commandLine.ts';
import type { Violation } from '../../../shared/domain/credits/integrity/invariant.ts';
import { buildDist } from '../../local/builtProcess.ts';
import { parseNumberOption, parseIntegerOption } from '../options.ts';
import { runChaos } from '../runChaos.ts';
import { type SeededBug, SEEDED_BUGS } from './bugs.ts';
import { copyBuildWithBug } from './copyBuildWithBug.ts';

const USAGE = `npm run chaos:planted -- [options]

Plants one bug after the other into a copy of the service, and sees whether chaos finds it. Ends with 1 where one is not found.

  --seeds <count>      how many seeds to try each with at most; 5 unless said
  --minutes <number>   how long each of these runs breaks things; 1 unless said
  --only <text>        those whose name contains it`;

interface BugResult {
  bug: SeededBug;
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
const [seeds, minutes] = parseNumbersOrExit();
await runAll(seeds, 60 * minutes, values.only);
process.exit();

function parseNumbersOrExit(): [seeds: number, minutes: number] {
  try {
    return [
      parseIntegerOption('seeds', values.seeds, 1, 1_000),
      parseNumberOption('minutes', values.minutes, 0.1, 24 * 60),
    ];
  } catch (error) {
    return exitWithUsageError('npm run chaos:planted', error as Error);
  }
}

async function runAll(seeds: number, seconds: number, only: string): Promise<void> {
  await buildDist();
  const found: BugResult[] = [];
  for (const bug of SEEDED_BUGS.filter(({ name }) => name.includes(only))) {
    const result = await tryBug(bug, seeds, seconds);
    found.push(result);
    writeLine(formatRow(result));
  }
  writeLine('');
  for (const line of ['| Planted | Found | By |', '|---|---|---|', ...found.map(formatRow)]) writeLine(line);
  if (found.some(({ seed }) => seed === null)) process.exitCode = 1;
}

async function tryBug(bug: SeededBug, seeds: number, seconds: number): Promise<BugResult> {
  const copy = copyBuildWithBug(bug);
  try {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const startedAt = performance.now();
      const by = await runWithSeed(bug, copy.folder, seed, seconds);
      const took = Math.round((performance.now() - startedAt) / 1_000);
      if (by.length > 0) return { bug, seed, seconds: took, by };
      writeLine(`- ${bug.name}: not by seed ${seed}, in ${took} s`);
    }
    return { bug, seed: null, seconds: 0, by: [] };
  } finally {
    copy.remove();
  }
}

/** The invariants that found it. */
async function runWithSeed(bug: SeededBug, folder: string, seed: number, seconds: number): Promise<string[]> {
  const isAbout = ({ invariant, subject, detail }: Violation) =>
    bug.foundBy.includes(invariant) && bug.detailPattern?.test(`${subject}: ${detail}`) !== false;
  const { violations, folder: logs } = await runChaos({
    seed,
    seconds,
    accounts: 16,
    clients: 8,
    isCalm: false,
    keepsFiles: false,
    build: folder,
    sql: bug.sql ?? [],
    isSufficient: isAbout,
    log: () => {},
    logFault: () => {},
  });
  // What it says is expected here.
  if (logs !== null) rmSync(logs, { recursive: true, force: true });
  return [...new Set(violations.filter(isAbout).map(({ invariant }) => invariant))];
}

function formatRow({ bug, seed, seconds, by }: BugResult): string {
  return `| ${bug.name} | ${seed === null ? 'NO' : `by seed ${seed}, in ${seconds} s`} | ${by.join(', ')} |`;
}

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

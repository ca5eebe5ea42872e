import { rmSync } from 'node:fs';
import type { Violation } from '../../../shared/domain/invariant.ts';
import { CUSTOMER_KINDS } from '../clients/customers.ts';
import { runChaos } from '../runChaos.ts';
import { SEEDED_BUGS, type SeededBug } from './bugs.ts';
import { buildWithBug } from './buildWithBug.ts';

interface BugResult {
  bug: SeededBug;
  /** The seed that detected the bug, or null. */
  seed: number | null;
  /** Duration of the run that detected it. */
  seconds: number;
  by: string[];
}

/**
 * Tries the bugs whose name contains a text with seeds from 1 on, and prints the results. The exit status becomes 1 if
 * one is not detected.
 * @param seconds length of the fault phase of each run.
 */
export async function tryBugs(seeds: number, seconds: number, only: string): Promise<void> {
  const found: BugResult[] = [];
  for (const bug of SEEDED_BUGS.filter(({ name }) => name.includes(only))) {
    const result = await tryBug(bug, seeds, seconds);
    found.push(result);
    writeLine(formatRow(result));
  }
  writeLine('');
  for (const line of ['| Seeded bug | Detected | By |', '|---|---|---|', ...found.map(formatRow)]) writeLine(line);
  if (found.some(({ seed }) => seed === null)) process.exitCode = 1;
}

async function tryBug(bug: SeededBug, seeds: number, seconds: number): Promise<BugResult> {
  const build = await buildWithBug(bug);
  try {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const startedAt = performance.now();
      const by = await runWithSeed(bug, build.folder, seed, seconds);
      const took = Math.round((performance.now() - startedAt) / 1_000);
      if (by.length > 0) return { bug, seed, seconds: took, by };
      writeLine(`- ${bug.name}: not detected by seed ${seed} in ${took} s`);
    }
    return { bug, seed: null, seconds: 0, by: [] };
  } finally {
    build.remove();
  }
}

/** The invariants that detected the bug. */
async function runWithSeed(bug: SeededBug, folder: string, seed: number, seconds: number): Promise<string[]> {
  const isAbout = ({ invariant, subject, detail }: Violation) =>
    bug.foundBy.includes(invariant) && bug.detailPattern?.test(`${subject}: ${detail}`) !== false;
  const { violations, folder: logs } = await runChaos({
    seed,
    seconds,
    accounts: CUSTOMER_KINDS,
    clients: 8,
    build: folder,
    sql: bug.sql,
    isSufficient: isAbout,
  });
  // The logs are not needed: the violations are expected.
  if (logs !== null) rmSync(logs, { recursive: true, force: true });
  return [...new Set(violations.filter(isAbout).map(({ invariant }) => invariant))];
}

function formatRow({ bug, seed, seconds, by }: BugResult): string {
  return `| ${bug.name} | ${seed === null ? 'NO' : `by seed ${seed}, in ${seconds} s`} | ${by.join(', ')} |`;
}

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

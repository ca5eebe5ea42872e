import type { Outcome } from './run.ts';

const HISTORY_LINES = 60;

/** What a run came to, as lines for a person. */
export function report(outcome: Outcome): string[] {
  const { seed, seconds, faults, violations } = outcome;
  return [
    `seed ${seed}, ${seconds} s on ${outcome.how}`,
    faults.length === 0 ? '  no faults' : `  faults      ${faults.length}: ${counted(faults.map(({ name }) => name))}`,
    ...outcome.notDone.map((line) => `  not done    ${line}`),
    `  requests    ${requestsOf(outcome)}, ${outcome.generations} generations`,
    ...answerLines(outcome),
    `  healed      first success after ${time(outcome.firstSuccessMs)}, first order ${time(outcome.firstCreateMs)}, all settled ${time(outcome.settledMs)}`,
    ...promiseLines(outcome),
    `  memory      of the first and the last quarter: ${memoryOf(outcome)}`,
    ...stallLines(outcome),
    `  invariants  looked at ${outcome.checks} times on the way and once at the end`,
    ...(violations.length === 0
      ? ['  no violation']
      : [`  ${violations.length} VIOLATIONS`, ...violationLines(outcome)]),
    ...(outcome.folder === null ? [] : [`  logs        ${outcome.folder}/logs`]),
  ];
}

/** The runs as a table in Markdown. */
export function tableOf(outcomes: readonly Outcome[]): string[] {
  const rows = outcomes.map((outcome) => [
    outcome.seed,
    outcome.faults.length,
    requestsOf(outcome),
    outcome.generations,
    time(outcome.firstSuccessMs),
    time(outcome.settledMs),
    outcome.violations.length,
  ]);
  return [
    '| Seed | Faults | Requests | Generations | First success | All settled | Violations |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ];
}

function requestsOf({ answers }: Outcome): number {
  return [...answers.values()].flatMap((counts) => [...counts.values()]).reduce((sum, count) => sum + count, 0);
}

function answerLines({ answers }: Outcome): string[] {
  return [...answers]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([kind, counts]) => {
      const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
      return `    ${kind.padEnd(24)} ${sorted.map(([answer, count]) => `${answer}: ${count}`).join(', ')}`;
    });
}

function promiseLines({ promises }: Outcome): string[] {
  return promises.map(
    ({ says, measuredMs, count, slowness }) =>
      `  promise     ${says} Longest of ${count}: ${time(measuredMs)}; machine slowed down ${slowness.toFixed(1)} times.`,
  );
}

function memoryOf({ memory }: Outcome): string {
  return [...memory]
    .map(([name, kb]) => {
      const quarter = Math.ceil(kb.length / 4);
      const [first, last] = [median(kb.slice(0, quarter)), median(kb.slice(-quarter))];
      return `${name} ${megabytes(first)}, then ${megabytes(last)} MB (most ${megabytes(Math.max(...kb))})`;
    })
    .join('; ');
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

function megabytes(kb: number): number {
  return Math.round(kb / 1_024);
}

function stallLines({ stalls }: Outcome): string[] {
  if (stalls.length === 0) return [];
  const longest = Math.max(...stalls.map(({ from, to }) => to - from));
  return [
    `  the machine stood still ${stalls.length} times, up to ${time(longest)}: what took long then does not count`,
  ];
}

function violationLines({ violations, histories }: Outcome): string[] {
  const lines: string[] = [];
  for (const { invariant, says, accountId, subject, detail } of violations) {
    lines.push(
      `    ${invariant}: ${says}`,
      `      ${accountId === null ? '' : `account ${accountId}, `}${subject}: ${detail}`,
    );
  }
  for (const [accountId, history] of histories) {
    lines.push(`    What account ${accountId} went through (the last ${HISTORY_LINES} lines):`);
    lines.push(...history.slice(-HISTORY_LINES).map((line) => `      ${line}`));
  }
  return lines;
}

function counted(names: string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

function time(milliseconds: number | null): string {
  return milliseconds === null ? 'never' : `${(milliseconds / 1_000).toFixed(1)} s`;
}

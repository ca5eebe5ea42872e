import { median } from '../local/statistics.ts';
import type { ChaosOutcome } from './runChaos.ts';

const HISTORY_LINES = 60;

/** Formats the results of a run for a person. */
export function formatReport(outcome: ChaosOutcome): string[] {
  const { seed, seconds, faults, violations } = outcome;
  return [
    `seed ${seed}, ${seconds} s on ${outcome.description}`,
    faults.length === 0
      ? '  no faults'
      : `  faults      ${faults.length}: ${formatCounts(faults.map(({ name }) => name))}`,
    ...outcome.skippedFaults.map((line) => `  skipped     ${line}`),
    `  requests    ${countRequests(outcome)}, ${outcome.generations} generations`,
    ...formatResponseLines(outcome),
    formatWebhooks(outcome),
    formatLimits(outcome),
    `  healed      first success after ${formatSeconds(outcome.firstSuccessMs)}, first create ${formatSeconds(outcome.firstCreateMs)}, all settled ${formatSeconds(outcome.drainedMs)}`,
    ...formatGuaranteeLines(outcome),
    `  memory      in the first and the last quarter: ${formatMemory(outcome)}`,
    ...formatStallLines(outcome),
    `  invariants  checked ${outcome.checks} times during the run and once at the end`,
    ...(violations.length === 0
      ? ['  no violation']
      : [`  ${violations.length} VIOLATIONS`, ...formatViolationLines(outcome)]),
    ...(outcome.folder === null ? [] : [`  logs        ${outcome.folder}/logs`]),
  ];
}

/** Formats the runs as a table in Markdown. */
export function formatOutcomeTable(outcomes: readonly ChaosOutcome[]): string[] {
  const rows = outcomes.map((outcome) => [
    outcome.seed,
    outcome.faults.length,
    countRequests(outcome),
    outcome.generations,
    formatSeconds(outcome.firstSuccessMs),
    formatSeconds(outcome.drainedMs),
    outcome.violations.length,
  ]);
  return [
    '| Seed | Faults | Requests | Generations | First success | All settled | Violations |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ];
}

function countRequests({ responses }: ChaosOutcome): number {
  return [...responses.values()].flatMap((counts) => [...counts.values()]).reduce((sum, count) => sum + count, 0);
}

function formatResponseLines({ responses }: ChaosOutcome): string[] {
  return [...responses]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([kind, counts]) => {
      const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
      return `    ${kind.padEnd(24)} ${sorted.map(([response, count]) => `${response}: ${count}`).join(', ')}`;
    });
}

function formatWebhooks({ webhooks: { endpoints, received, accepted, required } }: ChaosOutcome): string {
  return `  webhooks    ${received} attempts at ${endpoints} endpoints and single addresses, ${accepted} accepted; ${required} messages were required`;
}

function formatLimits({ limited }: ChaosOutcome): string {
  const counts = Object.entries(limited).map(
    ([who, { accepted, rejected }]) => `${accepted} and ${rejected} of ${who}`,
  );
  return `  limits      creates accepted under a spending limit, and rejected because of it: ${counts.join('; ')}`;
}

function formatGuaranteeLines({ guarantees }: ChaosOutcome): string[] {
  return guarantees.map(
    ({ statement: says, measuredMs, count, slowness }) =>
      `  guarantee   ${says} Longest of ${count}: ${formatSeconds(measuredMs)}; machine slowed down ${slowness.toFixed(1)} times.`,
  );
}

function formatMemory({ memory }: ChaosOutcome): string {
  return [...memory]
    .map(([name, kb]) => {
      const quarter = Math.ceil(kb.length / 4);
      const [first, last] = [median(kb.slice(0, quarter)), median(kb.slice(-quarter))];
      return `${name} ${toMegabytes(first)}, then ${toMegabytes(last)} MB (peak ${toMegabytes(Math.max(...kb))})`;
    })
    .join('; ');
}

function toMegabytes(kb: number): number {
  return Math.round(kb / 1_024);
}

function formatStallLines({ stalls }: ChaosOutcome): string[] {
  if (stalls.length === 0) return [];
  const longest = Math.max(...stalls.map(({ from, to }) => to - from));
  return [
    `  the machine stalled ${stalls.length} times, up to ${formatSeconds(longest)}: durations during a stall do not count`,
  ];
}

function formatViolationLines({ violations, histories }: ChaosOutcome): string[] {
  const lines: string[] = [];
  for (const { invariant, statement: says, accountId, subject, detail } of violations) {
    lines.push(
      `    ${invariant}: ${says}`,
      `      ${accountId === null ? '' : `account ${accountId}, `}${subject}: ${detail}`,
    );
  }
  for (const [accountId, history] of histories) {
    lines.push(`    History of account ${accountId} (the last ${HISTORY_LINES} lines):`);
    lines.push(...history.slice(-HISTORY_LINES).map((line) => `      ${line}`));
  }
  return lines;
}

function formatCounts(names: string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

function formatSeconds(milliseconds: number | null): string {
  return milliseconds === null ? 'never' : `${(milliseconds / 1_000).toFixed(1)} s`;
}

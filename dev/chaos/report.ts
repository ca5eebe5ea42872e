import { median } from '../local/statistics.ts';
import { APPLICATION_CALL, type ClientRequest, LIMITED_CREATE } from './clients/journal.ts';
import { STATEMENTS } from './rules.ts';
import type { ChaosOutcome } from './runChaos.ts';

const HISTORY_LINES = 60;

/** Formats the results of a run for a person. */
export function formatReport(outcome: ChaosOutcome): string[] {
  const { seed, seconds, faults, journal, healed, violations, stalls } = outcome;
  const { endpoints, messages, required } = journal.webhooks;
  const accepted = messages.filter(({ isAccepted }) => isAccepted).length;
  return [
    `seed ${seed}, ${seconds} s on ${outcome.description}`,
    `  faults      ${faults.length}: ${formatCounts(faults.map(({ name }) => name))}`,
    ...(outcome.diskProblem === null ? [] : [`  skipped     Postgres disk full: ${outcome.diskProblem}`]),
    `  requests    ${journal.requests.length}, ${journal.generations.size} generations`,
    ...formatResponses(journal.requests),
    `  webhooks    ${messages.length} attempts at ${endpoints.length} endpoints and single addresses, ${accepted} accepted; ${required} messages were required`,
    `  limits      creates accepted under a spending limit, and rejected because of it: ${countLimited(journal.requests, LIMITED_CREATE)} of keys; ${countLimited(journal.requests, APPLICATION_CALL)} of applications`,
    `  healed      first success after ${formatSeconds(healed.firstSuccessMs)}, first create ${formatSeconds(healed.firstCreateMs)}, all settled ${formatSeconds(outcome.drainedMs)}`,
    ...outcome.guarantees.map(
      ({ invariant, target, measuredMs, count, slowness }) =>
        `  guarantee   ${STATEMENTS[invariant]} (${target}) Longest of ${count}: ${formatSeconds(measuredMs)}; machine slowed down ${slowness.toFixed(1)} times.`,
    ),
    `  memory      in the first and the last quarter: ${formatMemory(outcome)}`,
    `  stalls      ${stalls.length} of the machine, up to ${formatSeconds(Math.max(0, ...stalls.map(({ from, to }) => to - from)))}`,
    `  invariants  checked ${outcome.checks} times during the run and once at the end`,
    violations.length === 0 ? '  no violation' : `  ${violations.length} VIOLATIONS`,
    ...formatViolations(outcome),
    ...(outcome.folder === null ? [] : [`  logs        ${outcome.folder}/logs`]),
  ];
}

/** Formats the runs as a table in Markdown. */
export function formatOutcomeTable(outcomes: readonly ChaosOutcome[]): string[] {
  const rows = outcomes.map(({ seed, faults, journal, healed, drainedMs, violations }) => [
    seed,
    faults.length,
    journal.requests.length,
    journal.generations.size,
    formatSeconds(healed.firstSuccessMs),
    formatSeconds(drainedMs),
    violations.length,
  ]);
  return [
    '| Seed | Faults | Requests | Generations | First success | All settled | Violations |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ];
}

function countLimited(requests: readonly ClientRequest[], limitedKind: string): string {
  const limited = requests.filter(({ kind }) => kind === limitedKind);
  const accepted = limited.filter(({ status, code }) => (status === 200 || status === 201) && code === null);
  const rejected = limited.filter(({ code }) => code === 'spending_limit_reached');
  return `${accepted.length} and ${rejected.length}`;
}

/** Formats one line for each kind of request: `create  201: 812, 503 internal_error: 4`. */
function formatResponses(requests: readonly ClientRequest[]): string[] {
  const responses = new Map<string, string[]>();
  for (const { kind, status, code } of requests) {
    const sent = responses.get(kind) ?? [];
    responses.set(kind, sent);
    sent.push(code === null ? String(status) : `${status} ${code}`);
  }
  return [...responses]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([kind, sent]) => `    ${kind.padEnd(24)} ${formatCounts(sent)}`);
}

const toMegabytes = (kb: number): number => Math.round(kb / 1_024);

function formatMemory({ memory }: ChaosOutcome): string {
  return [...memory]
    .map(([name, kb]) => {
      const quarter = Math.ceil(kb.length / 4);
      const [first, last] = [median(kb.slice(0, quarter)), median(kb.slice(-quarter))];
      return `${name} ${toMegabytes(first)}, then ${toMegabytes(last)} MB (peak ${toMegabytes(Math.max(...kb))})`;
    })
    .join('; ');
}

function formatViolations({ violations, histories }: ChaosOutcome): string[] {
  return [
    ...violations.flatMap(({ invariant, statement, accountId, subject, detail }) => [
      `    ${invariant}: ${statement}`,
      `      ${accountId === null ? '' : `account ${accountId}, `}${subject}: ${detail}`,
    ]),
    ...[...histories].flatMap(([accountId, history]) => [
      `    History of account ${accountId} (the last ${HISTORY_LINES} lines):`,
      ...history.slice(-HISTORY_LINES).map((line) => `      ${line}`),
    ]),
  ];
}

function formatCounts(names: string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ');
}

function formatSeconds(milliseconds: number | null): string {
  return milliseconds === null ? 'never' : `${(milliseconds / 1_000).toFixed(1)} s`;
}

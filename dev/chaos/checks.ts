import type { Queryable } from '../../shared/domain/invariant.ts';
import { checkInvariants, readAccountHistory, type Violation } from '../../shared/domain/integrity/index.ts';
import { compareStripeWithDatabase } from '../../test/fakes/stripe/compareWithDatabase.ts';
import { connectTo } from '../local/environment/databases.ts';
import type { Journal } from './clients/journal.ts';
import { compareWebhooks } from './clients/webhooks/compareWebhooks.ts';
import { compareJournal } from './compareJournal.ts';
import type { ChaosEnvironment } from './environment.ts';
import { addViolation, violate } from './rules.ts';

/** Maximum number of violations kept per invariant. */
const MAX_PER_INVARIANT = 5;

/** Checks what holds at every moment; once all work has settled, everything. */
export async function checkDatabase(
  client: Queryable,
  environment: ChaosEnvironment,
  journal: Journal,
  isDrained: boolean,
): Promise<Violation[]> {
  const found = [
    ...(await compareJournal(client, environment, journal, isDrained)),
    ...(await checkInvariants(client, { isDrained, now: environment.now() })),
  ];
  if (isDrained) found.push(...(await compareStripeWithDatabase(environment.stripe.summarize(), client)));
  // A move of all clocks makes hours final while creates of before it are in progress; a real clock does not.
  return found.filter(({ invariant }) => invariant !== 'final-hours-match-generations');
}

/** Checks everything that must hold after all work has settled. */
export async function checkEverything(environment: ChaosEnvironment, journal: Journal): Promise<Violation[]> {
  const client = await connectTo(environment.databaseUrl);
  try {
    await compareWebhooks(journal, client, (...args) => addViolation(journal.violations, ...args));
    const found = await checkDatabase(client, environment, journal, true);
    const { rows } = await client.query('SELECT id::text AS id, uuid FROM accounts');
    const ids = new Map(rows.map(({ id, uuid }: { id: string; uuid: string }) => [uuid, id]));
    const byClients = journal.violations.map((violation) => {
      return { ...violation, accountId: ids.get(violation.accountUuid ?? '') ?? null };
    });
    const exits = environment.unexpectedExits.map((exit) =>
      violate('processes-keep-running', null, exit, `see ${environment.folder}/logs`),
    );
    return [...found, ...byClients, ...exits];
  } finally {
    await client.end();
  }
}

/** Reads the histories of the accounts in violations. */
export async function readHistories(databaseUrl: string, violations: Violation[]): Promise<Map<string, string[]>> {
  const accounts = new Set(violations.map(({ accountId }) => accountId).filter((id) => id !== null));
  const client = await connectTo(databaseUrl);
  const histories = new Map<string, string[]>();
  try {
    for (const id of accounts) histories.set(id, await readAccountHistory(client, id));
  } finally {
    await client.end();
  }
  return histories;
}

export function addDistinct(violations: Violation[], violation: Violation): void {
  const same = violations.filter(({ invariant }) => invariant === violation.invariant);
  if (same.length < MAX_PER_INVARIANT && !same.some(({ subject }) => subject === violation.subject))
    violations.push(violation);
}

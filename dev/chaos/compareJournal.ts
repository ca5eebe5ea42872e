import type { Queryable, Violation } from '../../shared/domain/invariant.ts';
import { withReadOnlySnapshot } from '../../shared/domain/integrity/index.ts';
import type { UpstreamJob } from '../../test/fakes/fakeUpstream.ts';
import { getId } from '../../test/fakes/stripe/store.ts';
import { SECOND_MODELS } from './catalogs.ts';
import type { Journal } from './clients/journal.ts';
import { type Comparison, COMPARISONS, DRAINED_COMPARISONS, JOURNAL_RELATIONS } from './comparisons.ts';
import type { ChaosEnvironment } from './environment.ts';
import { type Rule, violate } from './rules.ts';

/** Maximum time between a status and a request to cancel because of it: processes are paused for some seconds. */
const CANCEL_DELAY_MAX_MS = 10_000;

type JournalRows = Partial<Record<keyof typeof JOURNAL_RELATIONS, readonly object[] | undefined>>;

/**
 * Compares what clients, the upstream, Stripe and the mail server have recorded with the database: with `isDrained`
 * also what holds only once all work has settled.
 */
export async function compareJournal(
  client: Queryable,
  environment: Pick<ChaosEnvironment, 'upstream' | 'stripe' | 'mailReceiver' | 'moderation' | 'advances'>,
  journal: Journal,
  isDrained: boolean,
): Promise<Violation[]> {
  const runs = listRuns(environment.upstream.jobs);
  return withReadOnlySnapshot(client, async () => {
    // A run is canceled after its generation has ended; everything else is recorded before the database changes.
    await client.query('SELECT FROM accounts LIMIT 1');
    const { mailReceiver, moderation, stripe, advances } = environment;
    return runComparisons(client, isDrained ? [...COMPARISONS, ...DRAINED_COMPARISONS] : COMPARISONS, {
      runs,
      advances,
      ...buildClientRows(journal),
      second_models: SECOND_MODELS,
      mails: mailReceiver.accepted,
      allowed_prompts: moderation === null ? undefined : [...moderation.allowed].map((prompt) => ({ prompt })),
      charges: stripe.store
        .list('charge')
        .filter(({ status }) => status === 'succeeded')
        .map(({ id, customer, created, amount, amount_refunded: refunded }) => ({
          id,
          amount,
          refunded,
          customer: getId(customer),
          created: new Date(1_000 * created),
        })),
    });
  });
}

/** Runs comparisons in the current transaction. Relations without rows may be left out. */
export async function runComparisons(
  client: Queryable,
  comparisons: readonly Comparison[],
  rows: JournalRows,
): Promise<Violation[]> {
  const relations = Object.entries(JOURNAL_RELATIONS).map(
    ([name, columns]) =>
      `${name} AS (SELECT r.* FROM journal, jsonb_to_recordset(entries -> '${name}') AS r (${columns}))`,
  );
  const journal = JSON.stringify(rows);
  // The planner expects a hundred rows in each relation of the journal, and a soak test has tens of thousands.
  await client.query('SET LOCAL enable_nestloop = off');
  const found: Violation[] = [];
  for (const { from, account, subject, rules } of comparisons) {
    const result = await client.query(
      `WITH journal AS MATERIALIZED (SELECT $1::jsonb AS entries), ${relations.join(', ')}
       SELECT found.rule, (${account})::text AS account, (${subject})::text AS subject, found.detail
         FROM ${from} CROSS JOIN LATERAL (VALUES ${rules}) AS found (rule, is_violated, detail)
        WHERE found.is_violated ORDER BY 1, 2, 3`,
      [journal],
    );
    type Row = { rule: Rule; account: string | null; subject: string; detail: string };
    found.push(...(result.rows as Row[]).map((row) => violate(row.rule, row.account, row.subject, row.detail)));
  }
  return found;
}

/** Returns the relations of the journal that clients and the webhook receiver wrote. */
function buildClientRows(journal: Journal): JournalRows {
  const { endpoints, messages, targets } = journal.webhooks;
  return {
    seen_endpoints: endpoints.flatMap(({ accountUuid, uuid, changes }) => {
      const last = changes.at(-1);
      return last === undefined || uuid === null
        ? []
        : { accountUuid, uuid, isConfirmed: last.confirmedAt !== null, ...last.state };
    }),
    accepted_messages: messages.flatMap(({ id, token, isAccepted }) => {
      const { endpoint, accountUuid } = targets.get(token) ?? {};
      return isAccepted ? { id, recipient: endpoint === null ? accountUuid : endpoint?.uuid } : [];
    }),
    seen_accounts: [...journal.accounts].map(([uuid, email]) => ({ uuid, email })),
    seen_creates: [...journal.createsByPrompt.values()],
    seen_generations: [...journal.generations.values()],
    seen_keys: [...journal.keys.values()],
    seen_deletions: journal.deletions,
    paid_topups: journal.topups,
    paid_plans: journal.plans,
    staff_adjustments: journal.adjustments,
    staff_refunds: journal.staffRefunds,
    sent_creates: journal.sentCreates,
    rejected_creates: journal.rejectedCreates,
  };
}

function listRuns(jobs: readonly UpstreamJob[]): object[] {
  return jobs.map((job, number) => {
    const { id, prompt, request, outcome, cancelled, submittedAt, startedAt, completedAt, polls } = job;
    const after = (at: number | null) => (at === null ? 'never' : `after ${at - submittedAt} ms`);
    return {
      number,
      id,
      prompt,
      isCanceled: cancelled,
      wasSeenWaiting: wasSeenWaiting(job),
      hasStarted: startedAt !== null,
      hasSucceeded: outcome?.kind === 'succeeded',
      error: outcome?.kind === 'failed' ? outcome.message : null,
      hasImage: JSON.stringify(request.body).includes('/uploads/'),
      detail: `started ${after(startedAt)}, ended ${after(completedAt)}, was polled ${polls.map(after).join(', ')}`,
    };
  });
}

/**
 * Returns true if a run had not started, or was canceled because the upstream had just said that it waits: it may start
 * while the request to cancel it is on its way, and upstreams then end it nevertheless.
 */
function wasSeenWaiting({ startedAt, seenWaitingAt, cancelledAt }: UpstreamJob): boolean {
  if (startedAt === null) return true;
  return seenWaitingAt !== null && cancelledAt !== null && cancelledAt - seenWaitingAt < CANCEL_DELAY_MAX_MS;
}

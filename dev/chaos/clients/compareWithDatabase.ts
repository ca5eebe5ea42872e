import type { Queryable, Violation } from '../../../shared/domain/invariant.ts';
import { compareDeletions } from './compareDeletions.ts';
import {
  compareAdjustments,
  compareKeys,
  comparePlans,
  compareStaffRefunds,
  compareTopups,
} from './compareKeysAndPayments.ts';
import type { ClientStore, ObservedGeneration, ObservedCreate } from './clientStore.ts';
import { compareWebhooks } from './webhooks/compareWebhooks.ts';
import { addViolation, type ClientViolation, type ReportFunction } from './violations.ts';

interface GenerationRow {
  uuid: string;
  account_uuid: string;
  model: string;
  prompt: string;
  status: string;
  credits_charged: number;
  is_canceled: boolean;
  oauth_client_id: string | null;
  deleted_at: Date | null;
}

/**
 * Compares the clients' observations with the database, when all work has settled.
 * @returns the violations in responses, with account ids, followed by the contradictions.
 */
export async function compareClientStore(store: ClientStore, client: Queryable): Promise<Violation[]> {
  const found: ClientViolation[] = [];
  const report: ReportFunction = (rule, accountUuid, subject, detail) =>
    addViolation(found, rule, accountUuid, subject, detail);
  await compareGenerations(store, client, report);
  await compareKeys(store, client, report);
  await compareTopups(store, client, report);
  await comparePlans(store, client, report);
  await compareAdjustments(store, client, report);
  await compareStaffRefunds(store, client, report);
  await compareDeletions(store, client, report);
  await compareWebhooks(store, client, report);
  const { rows } = await client.query('SELECT id::text AS id, uuid, email FROM accounts');
  const accounts = new Map(rows.map((row: { id: string; uuid: string; email: string }) => [row.uuid, row]));
  for (const [uuid, email] of store.accounts) {
    if (accounts.get(uuid)?.email !== email) report('created-exists', uuid, email, `has no account ${uuid}`);
  }
  return [...store.violations, ...found].map((violation) => ({
    ...violation,
    accountId: accounts.get(violation.accountUuid ?? '')?.id ?? null,
  }));
}

async function compareGenerations(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  const { rows } = await client.query(
    // The prompts of generations deleted a month ago have been purged.
    `SELECT g.uuid, a.uuid AS account_uuid, g.model, p.prompt, g.status, g.credits_charged,
            g.cancel_requested_at IS NOT NULL AS is_canceled, g.oauth_client_id, g.deleted_at
       FROM generations g JOIN accounts a ON a.id = g.account_id JOIN chaos.prompts p ON p.generation = g.uuid
      WHERE a.uuid = ANY ($1::uuid[])`,
    [[...store.accounts.keys()]],
  );
  const kept = rows as GenerationRow[];
  const byUuid = new Map(kept.map((row) => [row.uuid, row]));
  for (const observed of store.generations.values()) compareGeneration(observed, byUuid.get(observed.uuid), report);
  const byPrompt = new Map<string, GenerationRow[]>();
  for (const row of kept) byPrompt.set(row.prompt, [...(byPrompt.get(row.prompt) ?? []), row]);
  for (const [prompt, made] of byPrompt) compareCreate(store.createsByPrompt.get(prompt), made, report);
}

function compareGeneration(observed: ObservedGeneration, row: GenerationRow | undefined, report: ReportFunction): void {
  const { uuid, accountUuid, final } = observed;
  if (row === undefined) {
    report(
      'created-exists',
      accountUuid,
      uuid,
      `was created with 201 through ${observed.surface}, and is not in the database`,
    );
    return;
  }
  for (const [what, was, is] of [
    ['account', accountUuid, row.account_uuid],
    ['model', observed.model, row.model],
    ['prompt', observed.prompt, row.prompt],
    ['credits_charged', observed.credits, row.credits_charged],
  ] as const) {
    if (was !== is) report('created-exists', accountUuid, uuid, `${what} was ${was} in a response and is ${is}`);
  }
  if (final !== null && final.status !== row.status) {
    report('end-is-final', accountUuid, uuid, `was seen ${final.status} and is ${row.status}`);
  }
  if (observed.cancelRequestedAt === null && row.is_canceled) {
    report('canceled-was-requested', accountUuid, uuid, 'is canceled without a request');
  }
  if (observed.deletedAt !== null && row.deleted_at === null) {
    report('deleted-is-gone', accountUuid, uuid, 'its deletion was acknowledged, and it is not deleted');
  }
  if (observed.deleteRequestedAt === null && row.deleted_at !== null) {
    report('deleted-is-gone', accountUuid, uuid, 'is deleted without a request');
  }
}

/** Checks the generations that a create led to. */
function compareCreate(observed: ObservedCreate | undefined, made: GenerationRow[], report: ReportFunction): void {
  const uuids = made.map(({ uuid }) => uuid).join(', ');
  const [first] = made as [GenerationRow];
  if (observed === undefined) {
    report('no-unrequested-generations', first.account_uuid, uuids, `no client sent "${first.prompt}"`);
    return;
  }
  const { accountUuid, sent, rejected, prompt, clientId, isForbidden } = observed;
  if (first.oauth_client_id !== clientId)
    report('application-is-recorded', accountUuid, uuids, `was created by ${clientId}: ${first.oauth_client_id}`);
  if (isForbidden)
    report('key-options-are-kept', accountUuid, prompt, `was created, which the options of its key forbid: ${uuids}`);
  if (observed.isStale) return;
  if (made.length > 1)
    report('one-generation-per-create', accountUuid, prompt, `sent ${sent} times, it led to ${uuids}`);
  if (sent === rejected) report('rejected-is-not-charged', accountUuid, prompt, `was rejected, and led to ${uuids}`);
  if (first.account_uuid !== accountUuid) {
    report('lists-show-own-items', accountUuid, uuids, `belongs to ${first.account_uuid}`);
  }
}

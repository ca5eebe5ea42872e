import { db } from '../../lib/database/pool.ts';
import { type GenerationFiles, presentOutputs, SHOWN_COLUMNS, withoutFiles } from '../../presenters/generation.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { IDEMPOTENCY_KEY_RETENTION_MS } from '../../spec/limits.ts';
import { type ExportList, type ExportRow, qualifyColumns, selectNext } from '../exportList.ts';
import type { DomainFeature } from '../feature.ts';
import { CHARGE_GENERATIONS, DECIDE_CREATES } from './chargeFunctions.ts';
import { deleteAccountGenerations } from './delete.ts';
import { CANCEL_GENERATION, COMPLETE_GENERATIONS, FAIL_GENERATIONS } from './execution/completeOrFail.ts';
import { pruneTestGenerations } from './pruneTestGenerations.ts';
import { GENERATION_INVARIANTS } from './invariants.ts';
import { DELETE_MEDIA } from './mediaDeletions.ts';
import { PURGED, purgeAccountGenerations } from './purge.ts';

const EXPORTED_COLUMNS = [
  ...SHOWN_COLUMNS,
  'number',
  'plan_credits_charged',
  'idempotency_key',
  'member_number',
  'api_key_number',
  'oauth_client_id',
  'webhook_url',
  'deleted_at',
  'refunded_at',
  'purged_at',
];

function presentFiles({ output_path, thumbnail_path, more_outputs, ...row }: ExportRow): ExportRow {
  const files = { output_path, thumbnail_path, more_outputs } as GenerationFiles;
  return { ...row, ...presentOutputs(row['deleted_at'] === null ? files : withoutFiles(files)) };
}

/**
 * Lists generations, with links to their files until they are deleted. They are found through their ledger entries, as
 * no index contains those that were deleted.
 */
const LIVE_GENERATIONS: ExportList = {
  name: 'generations',
  select: (accountId, after) => {
    const burns = db('ledger_entries')
      .join('generations', (join) => {
        join.on('generations.uuid', 'ledger_entries.generation_uuid');
        join.on('generations.account_id', 'ledger_entries.account_id');
      })
      .select(qualifyColumns('generations', EXPORTED_COLUMNS))
      .where({ 'ledger_entries.account_id': accountId, 'ledger_entries.entry_type': 'burn' });
    return selectNext(burns, 'ledger_entries.number', after);
  },
  present: presentFiles,
};

/** Lists the generations of a test account that were not deleted. They have no ledger entries. */
const TEST_GENERATIONS: ExportList = {
  name: 'generations',
  mode: 'test',
  select: (accountId, after) => {
    const kept = db('generations').select(EXPORTED_COLUMNS).where({ account_id: accountId, deleted_at: null });
    return selectNext(kept, 'number', after);
  },
  present: presentFiles,
};

export const GENERATIONS: DomainFeature = {
  sqlFunctions: [DECIDE_CREATES, CHARGE_GENERATIONS, COMPLETE_GENERATIONS, FAIL_GENERATIONS, CANCEL_GENERATION],
  invariants: GENERATION_INVARIANTS,
  exportLists: [LIVE_GENERATIONS, TEST_GENERATIONS],
  tasks: [DELETE_MEDIA],
  erasure: {
    after: async ({ id: accountId }) => {
      await deleteAccountGenerations(accountId);
      await purgeAccountGenerations(accountId);
    },
  },
  retention: [
    // The keys may be used again.
    {
      name: 'idempotency_keys',
      table: 'generations',
      key: 'uuid, account_id',
      since: 'created_at',
      afterMs: IDEMPOTENCY_KEY_RETENTION_MS,
      where: 'idempotency_key IS NOT NULL',
      set: 'idempotency_key = NULL',
    },
    // Once its event is dispatched, which is built from what is purged.
    {
      name: 'deleted_generations',
      table: 'generations',
      key: 'uuid, account_id',
      since: 'deleted_at',
      afterMs: 30 * DAY_MS,
      where: `purged_at IS NULL AND status <> 'queued'
          AND NOT EXISTS (SELECT FROM outbox_events e
                           WHERE e.account_id = generations.account_id AND e.type = 'generation.' || generations.status
                             AND e.subject = cast(generations.uuid AS text) AND e.dispatched_at IS NULL)`,
      set: PURGED,
    },
    pruneTestGenerations,
  ],
};

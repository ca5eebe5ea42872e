import { createAccountSlots } from '../../lib/accountSlots.ts';
import { listOtherModels } from '../../lib/catalog/knownModels.ts';
import { getCatalog } from '../../lib/catalog/catalog.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import {
  buildFilterBindings,
  buildFilteredPage,
  type CreatedRange,
  type FilteredRow,
  hasConditions,
} from '../../lib/listFilter.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { perService } from '../../lib/serviceScope.ts';
import { SHOWN_COLUMNS } from '../../presenters/generation.ts';
import type { ModelKind, ModelSlug } from '../../spec/catalog.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { GENERATION_STATUSES, type GenerationStatus } from '../../spec/states.ts';
import type { Generation } from '../../tables/Generation.ts';
import { ensureModelsKnown, loadReleasedModels } from '../catalog/knownModels.ts';
import { qualifyColumns } from '../exportList.ts';
import { DELETION_BLOCK } from './delete.ts';
import type { Metadata } from './metadata.ts';

/** Conditions of a list of generations. A missing one accepts everything. */
export interface GenerationFilter extends CreatedRange {
  status?: GenerationStatus;
  kind?: ModelKind;
  model?: ModelSlug;
  /** All of these pairs must match. */
  metadata?: Metadata;
}

/**
 * Selects generations of an account, newest first.
 * @param first condition of the first one, and of those that are skipped before it.
 */
const buildPage = (first: string, skip = '') =>
  `SELECT number, ${SHOWN_COLUMNS.join(', ')}
     FROM generations
    WHERE account_id = :accountId AND ${first} AND deleted_at IS NULL
    ORDER BY number DESC ${skip} LIMIT :limit`;

/** Finds a page by the number of its first item. It has no rows if generations of the account were deleted. */
const LIST_UNDELETED = prepared(
  'list_undeleted_generations',
  `SELECT a.generation_count - a.generations_deleted AS total, a.generations_deleted, page.*
     FROM accounts a
     LEFT JOIN LATERAL (
       ${buildPage('a.generations_deleted = 0 AND number <= a.generation_count - cast(:offset AS bigint)')}
     ) page ON true
    WHERE a.id = :accountId
    ORDER BY page.number DESC`,
);

/**
 * Finds a page by the rank of its first item, counted from the oldest that was not deleted. The deletions in older
 * blocks are added up; in the block of the item itself, those after it are skipped.
 */
const LIST_REMAINING = prepared(
  'list_remaining_generations',
  `SELECT a.total, page.*
     FROM (SELECT generation_count, generation_count - generations_deleted AS total,
                  generation_count - generations_deleted - cast(:offset AS bigint) AS rank
             FROM accounts WHERE id = :accountId) a
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(deleted), 0) AS deleted
        FROM (SELECT deleted, (block + 1) * ${DELETION_BLOCK} - sum(deleted) OVER (ORDER BY block) AS remaining
                FROM generation_deletion_counts WHERE account_id = :accountId) blocks
       WHERE remaining < a.rank) older
     LEFT JOIN generation_deletion_counts own
       ON own.account_id = :accountId AND own.block = (a.rank + older.deleted - 1) / ${DELETION_BLOCK}
    CROSS JOIN LATERAL (
      SELECT CASE WHEN own.deleted IS NULL THEN a.rank + older.deleted
                  ELSE least(a.generation_count, (own.block + 1) * ${DELETION_BLOCK}) END AS number) newest
     LEFT JOIN LATERAL (
       ${buildPage('a.rank > 0 AND number <= newest.number', 'OFFSET newest.number - older.deleted - coalesce(own.deleted, 0) - a.rank')}
     ) page ON true
    ORDER BY page.number DESC`,
);

/** A row of a page, whose columns are null on an empty one, with counts of the account. */
type ListedRow = Generation & { total: number; generations_deleted: number };

const LIST_BEFORE = prepared('list_generations_before', buildPage('number < :before'));

/**
 * Lists the generations of an account, newest first. Every page takes about the same time, however long the list is. Of
 * more than `FILTERED_ITEMS_MAX` matches of a filter, that number and one are counted, and the newest are shown.
 * @throws ServiceError validation_error for a page after those.
 */
export async function listGenerations(
  accountId: number,
  page: number,
  filter: GenerationFilter = {},
): Promise<ListPage<Generation>> {
  if (hasConditions(filter)) return listFiltered(accountId, page, filter);
  const bindings = { accountId, offset: getPageOffset(page), limit: PAGE_SIZE };
  let rows = await runStatement<ListedRow>(LIST_UNDELETED, bindings);
  if (rows.some((row) => row.generations_deleted > 0)) rows = await runStatement<ListedRow>(LIST_REMAINING, bindings);
  const items = rows.filter(({ number }) => number !== null);
  await ensureModelsKnown(items.map(({ model }) => model));
  return { page, totalItems: rows[0]?.total ?? 0, items };
}

/** A page of an account's generations, newest first. */
export interface CursorPage {
  items: Generation[];
  /** Cursor of the next page; null on the last page. */
  next: number | null;
}

/**
 * Lists the generations of an account, newest first, whose numbers are below the cursor. Generations that are created
 * or deleted between two pages cause no gaps and no duplicates.
 */
export async function listGenerationsByCursor(
  accountId: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<CursorPage> {
  const rows = await runStatement<Generation>(LIST_BEFORE, { accountId, before, limit: PAGE_SIZE + 1 });
  const items = rows.slice(0, PAGE_SIZE);
  return { items, next: rows.length > PAGE_SIZE ? (items.at(-1) as Generation).number : null };
}

/** Number of an account's generations, from the newest, among which a UUID is completed. */
const COMPLETED_AMONG = 1_000;

const COMPLETE_IDS = prepared(
  'complete_generation_ids',
  `SELECT uuid
     FROM (SELECT uuid, number FROM generations
            WHERE account_id = :accountId AND deleted_at IS NULL
            ORDER BY number DESC LIMIT ${COMPLETED_AMONG}) newest
    WHERE starts_with(cast(uuid AS text), cast(:prefix AS text))
    ORDER BY number DESC
    LIMIT :limit`,
);

/** Text that a UUID may begin with. Postgres would reject other text, such as with a NUL. */
const UUID_BEGINNING = /^[\da-f-]{0,36}$/i;

/** Lists the UUIDs of an account's newest generations that start with a prefix, newest first. */
export async function completeGenerationIds(accountId: number, prefix: string, limit: number): Promise<string[]> {
  if (!UUID_BEGINNING.test(prefix)) return [];
  const rows = await runStatement<{ uuid: string }>(COMPLETE_IDS, { accountId, prefix: prefix.toLowerCase(), limit });
  return rows.map(({ uuid }) => uuid);
}

const IS_CREATED_IN_RANGE = 'created_at >= cast(:after AS timestamptz) AND created_at < cast(:before AS timestamptz)';

/**
 * Matches of one of the statuses and one of the models: a range of the index `generations_filter_idx`, empty if the
 * filter has fewer of them. Its order and limit make Postgres plan an ordered read, and then a merge; without them it
 * would read and sort all matches. For the same reason the limit is a parameter: an ordered plan is chosen for a limit
 * that is not known.
 */
const buildRange = (status: number, model: number) => `
     (SELECT number, created_at FROM generations
       WHERE account_id = :accountId AND deleted_at IS NULL AND ${IS_CREATED_IN_RANGE}
         AND status = (cast(:statuses AS text[]))[${status}] AND model = (cast(:models AS text[]))[${model}]
       ORDER BY created_at DESC, number DESC LIMIT :max)`;

/**
 * Matches by metadata, from the index `generations_metadata_idx`, whose expression contains the account. All rows with
 * these pairs are read and then filtered, so the cost grows with the number of generations that have them, up to the
 * time limit of statements. A process runs one search of an account at a time.
 */
const MATCHES_BY_METADATA = `
     SELECT number, created_at FROM generations
      WHERE jsonb_set('{}', ARRAY[account_id::text], metadata) @> cast(:metadata AS jsonb) AND metadata IS NOT NULL
        AND account_id = :accountId AND deleted_at IS NULL AND ${IS_CREATED_IN_RANGE}
        AND status = ANY (cast(:statuses AS text[])) AND model = ANY (cast(:models AS text[]))`;

/**
 * Counts and reads the matches in one statement. Postgres merges the ranges from their newest ends and stops at the
 * limit, so the cost is bounded by the number of items that are counted, and does not depend on the length of the list.
 * Items are in the order of the whole list.
 */
const prepareFiltered = (name: string, matches: string) =>
  prepared(
    name,
    `WITH matching AS MATERIALIZED (
     SELECT number FROM (${matches}
     ) ranges
      ORDER BY created_at DESC, number DESC LIMIT :max
   )
   SELECT total.matches, g.number, ${qualifyColumns('g', SHOWN_COLUMNS).join(', ')}
     FROM (SELECT count(*) AS matches FROM matching) total
     LEFT JOIN (SELECT number FROM matching ORDER BY number DESC OFFSET :skip LIMIT :limit) shown ON true
     LEFT JOIN generations g ON g.account_id = :accountId AND g.number = shown.number AND g.deleted_at IS NULL
    ORDER BY shown.number DESC`,
  );

const withSearchSlot = createAccountSlots(1, DB_WAIT_TIMEOUT);

const LIST_BY_METADATA = prepareFiltered('list_generations_by_metadata', MATCHES_BY_METADATA);

/** Statements by the number of models that they read at most. */
const statements = perService(() => new Map<number, Statement>());

/**
 * Models that each statement can read: catalogs with as many need one. Larger ones need one for each kind, and one for
 * all.
 */
const FEW_MODELS = 4;

/** Returns the statement for a number of models. A connection prepares each once. */
export function getFilteredStatement(modelCount: number): Statement {
  const room = Math.max(FEW_MODELS, modelCount);
  const known = statements().get(room);
  if (known !== undefined) return known;
  const models = Array.from({ length: room }, (_, index) => index + 1);
  const ranges = GENERATION_STATUSES.flatMap((_, index) => models.map((model) => buildRange(index + 1, model)));
  const statement = prepareFiltered(`list_filtered_generations_${room}`, ranges.join('\n      UNION ALL'));
  statements().set(room, statement);
  return statement;
}

async function listFiltered(accountId: number, page: number, filter: GenerationFilter): Promise<ListPage<Generation>> {
  const { status, kind, model, metadata } = filter;
  await loadReleasedModels();
  const models = [...getCatalog().models, ...listOtherModels()]
    .filter((one) => one.kind === (kind ?? one.kind) && one.slug === (model ?? one.slug))
    .map(({ slug }) => slug);
  const bindings = {
    accountId,
    metadata: JSON.stringify({ [accountId]: metadata }),
    statuses: status === undefined ? GENERATION_STATUSES : [status],
    models,
    ...buildFilterBindings(filter, page),
  };
  const run = (statement: Statement) => runStatement<FilteredRow<Generation>>(statement, bindings);
  const rows = await (metadata === undefined
    ? run(getFilteredStatement(models.length))
    : withSearchSlot(accountId, () => run(LIST_BY_METADATA)));
  return buildFilteredPage<Generation>(page, rows);
}

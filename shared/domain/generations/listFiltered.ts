import { listOtherModels } from '../../lib/catalog/knownModels.ts';
import { DEFAULT_MODELS } from '../../spec/defaultModels.ts';
import { sha256 } from '../../lib/secrets.ts';
import { loadReleasedModels } from '../catalog/knownModels.ts';
import { getCatalog } from '../../lib/catalog/catalog.ts';
import { perService } from '../../lib/serviceScope.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import { buildFilterBindings, buildFilteredPage, type CreatedRange, type FilteredRow } from '../../lib/listFilter.ts';
import type { ListPage } from '../../lib/pagination.ts';
import type { ModelKind, ModelSlug } from '../../spec/catalog.ts';
import { GENERATION_STATUSES, type GenerationStatus } from '../../spec/states.ts';
import { Generation } from '../../tables/Generation.ts';
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
 * Matches of one status and model: a range of the index `generations_filter_idx`, read only if both are wanted. Its order
 * and limit make Postgres plan an ordered read, and then a merge; without them it would read and sort all matches. For
 * the same reason the limit is a parameter: an ordered plan is chosen for a limit that is not known.
 */
const buildRange = (status: GenerationStatus, model: ModelSlug) => `
     (SELECT number, created_at FROM generations
       WHERE account_id = :accountId AND status = '${status}' AND model = '${model}' AND deleted_at IS NULL
         AND created_at >= cast(:after AS timestamptz) AND created_at < cast(:before AS timestamptz)
         AND '${status}' = ANY (cast(:statuses AS text[])) AND '${model}' = ANY (cast(:models AS text[]))
       ORDER BY created_at DESC, number DESC LIMIT :max)`;

/**
 * Matches by metadata, from the index `generations_metadata_idx`, whose expression contains the account. All rows with
 * these pairs are read and then filtered, so the cost grows with the number of generations that have them.
 */
const MATCHES_BY_METADATA = `
     SELECT number, created_at FROM generations
      WHERE jsonb_set('{}', ARRAY[account_id::text], metadata) @> cast(:metadata AS jsonb) AND metadata IS NOT NULL
        AND account_id = :accountId AND deleted_at IS NULL
        AND created_at >= cast(:after AS timestamptz) AND created_at < cast(:before AS timestamptz)
        AND status = ANY (cast(:statuses AS text[])) AND model = ANY (cast(:models AS text[]))`;

/**
 * Counts and reads the matches in one statement. Postgres merges the ranges from their newest ends and stops at the
 * limit, so the cost is bounded by the number of items that are counted, and does not depend on the length of the list.
 * Items are in the order of the whole list.
 */
const prepareList = (name: string, matches: string) =>
  prepared(
    name,
    `WITH matching AS MATERIALIZED (
     SELECT number FROM (${matches}
     ) ranges
      ORDER BY created_at DESC, number DESC LIMIT :max
   )
   SELECT total.matches, g.number, g.uuid, g.model, g.prompt, g.params, g.status, g.credits_charged, g.created_at,
          g.completed_at, g.output_path, g.thumbnail_path, g.is_watermarked, g.error_message, g.cancel_requested_at, g.metadata
     FROM (SELECT count(*) AS matches FROM matching) total
     LEFT JOIN (SELECT number FROM matching ORDER BY number DESC OFFSET :skip LIMIT :limit) shown ON true
     LEFT JOIN generations g ON g.account_id = :accountId AND g.number = shown.number AND g.deleted_at IS NULL
    ORDER BY shown.number DESC`,
  );

const buildRanges = (models: readonly ModelSlug[]): string =>
  GENERATION_STATUSES.flatMap((status) => models.map((model) => buildRange(status, model))).join('\n      UNION ALL');

/** Number of models up to which one statement reads all ranges. */
const FEW_MODELS = 4;

const DEFAULT_SLUGS = Object.keys(DEFAULT_MODELS).join(' ');

/** Statements by the models that they read. A connection prepares each once. */
const statements = perService(() => new Map<string, Statement>());

/** Returns the statement for some models. A slug is safe in SQL: it consists of letters, digits, dots and hyphens. */
export function getListFilteredStatement(models: readonly ModelSlug[]): Statement {
  const slugs = models.join(' ');
  let statement = statements().get(slugs);
  if (statement === undefined) {
    const suffix = slugs === DEFAULT_SLUGS ? '' : `_${sha256(slugs).toString('hex').slice(0, 16)}`;
    statement = prepareList(`list_filtered_generations${suffix}`, buildRanges(models));
    statements().set(slugs, statement);
  }
  return statement;
}

const LIST_GENERATIONS_BY_METADATA = prepareList('list_generations_by_metadata', MATCHES_BY_METADATA);

/**
 * Lists the generations of an account that match a filter, newest first. Of more than `FILTERED_ITEMS_MAX` matches, that
 * number and one are counted, and the newest are shown.
 * @throws ServiceError validation_error for a page after those.
 */
export async function listFilteredGenerations(
  accountId: number,
  page: number,
  filter: GenerationFilter,
): Promise<ListPage<Generation>> {
  const { status, kind, model, metadata } = filter;
  await loadReleasedModels();
  const all = [...getCatalog().models, ...listOtherModels()];
  const models = all
    .filter((one) => one.kind === (kind ?? one.kind) && one.slug === (model ?? one.slug))
    .map(({ slug }) => slug);
  const statement =
    metadata === undefined ? getListFilteredStatement(choose(all, models)) : LIST_GENERATIONS_BY_METADATA;
  const rows = await runStatement<FilteredRow<Generation>>(statement, {
    accountId,
    ...(metadata === undefined ? {} : { metadata: JSON.stringify({ [accountId]: metadata }) }),
    statuses: status === undefined ? [...GENERATION_STATUSES] : [status],
    models,
    ...buildFilterBindings(filter, page),
  });
  const list = buildFilteredPage<Generation>(page, rows);
  return { ...list, items: list.items.map((item) => Generation.fromDatabaseJson(item)) };
}

/** Returns the models whose ranges a statement reads: all if they are few, which needs one statement for all filters. */
function choose(all: readonly { slug: ModelSlug }[], wanted: readonly ModelSlug[]): readonly ModelSlug[] {
  return wanted.length === 0 || all.length <= FEW_MODELS ? all.map(({ slug }) => slug) : wanted;
}

import Type, { type Static } from 'typebox';
import type { GenerationFilter } from '../../../shared/domain/generations/list.ts';
import { listMetadataFilters, parseMetadataFilter } from '../../../shared/domain/generations/metadata.ts';
import { getCatalog, getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { listOtherModels } from '../../../shared/lib/catalog/knownModels.ts';
import { listBriefly } from '../../../shared/lib/listBriefly.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { createQueryParser, type Parameters } from '../../../shared/lib/validation/queryParser.ts';
import { MODEL_KINDS } from '../../../shared/spec/catalog.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { METADATA_FILTERS_MAX } from '../../../shared/spec/limits.ts';
import { GENERATION_STATUSES } from '../../../shared/spec/states.ts';
import { buildFilterQuery, CREATED_RANGE, PageParameter, toCreatedRange } from '../../pipeline/lists.ts';

/** Filters of a list of generations. */
export const getGenerationFilters = perService(() => ({
  status: Type.Optional(Type.Enum([...GENERATION_STATUSES], { description: 'Only generations with this status.' })),
  kind: Type.Optional(Type.Enum([...MODEL_KINDS], { description: 'Only videos, or only images.' })),
  // Validated by `parseModel`.
  model: Type.Optional(
    Type.Unknown({
      description: 'Only generations of this model, by its slug.',
      documented: { type: 'string', ...(getCatalog().id === null ? { enum: getModelSlugs() } : {}) },
    }),
  ),
  // Validated by `parseMetadataFilter`.
  metadata: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      maxProperties: METADATA_FILTERS_MAX,
      additionalProperties: { type: 'string' },
      description: `Only generations with these pairs of metadata, such as \`metadata[project]=lighthouse\`; up to ${METADATA_FILTERS_MAX}, which must all match.`,
    }),
  ),
  ...CREATED_RANGE,
}));

/** Query of the list of generations. */
export const getGenerationQuery = perService(() => Type.Object({ page: PageParameter, ...getGenerationFilters() }));

const buildFilterSchema = () => Type.Object(getGenerationFilters());
const getFilterParser = perService(() => createQueryParser(buildFilterSchema()));

/**
 * Parses the filters of a list of generations. Other parameters are ignored.
 * @throws ServiceError validation_error
 */
export const parseGenerationFilter = (parameters: Parameters): GenerationFilter =>
  toGenerationFilter(getFilterParser()(parameters), parameters);

/**
 * Converts filters whose schema was validated, and validates the others.
 * @param parameters the same filters as they were sent.
 * @throws ServiceError validation_error
 */
export function toGenerationFilter(
  filters: Static<ReturnType<typeof buildFilterSchema>>,
  parameters: Parameters,
): GenerationFilter {
  return {
    status: filters.status,
    kind: filters.kind,
    model: parseModel(filters.model),
    metadata: parseMetadataFilter(parameters),
    ...toCreatedRange(filters),
  };
}

/** Returns the filters of a list of generations as a query, for the links to its other pages. */
export const buildGenerationQuery = (parameters: Parameters): string =>
  buildFilterQuery(parameters, [
    'status',
    'kind',
    'model',
    ...Object.keys(CREATED_RANGE),
    ...listMetadataFilters(parameters),
  ]);

/** Parses the slug of a model: of the catalog, or of one outside it that was loaded. Errors name no hidden models. */
function parseModel(model: unknown): string | undefined {
  if (model === undefined) return undefined;
  const { models, modelsBySlug } = getCatalog();
  if (typeof model === 'string' && modelsBySlug.get(model)?.hidden === true) return model;
  const slugs = [...models.filter(({ hidden }) => !hidden), ...listOtherModels()].map(({ slug }) => slug);
  const found = slugs.find((slug) => slug === model);
  if (found !== undefined) return found;
  throw new ServiceError('validation_error', `model must be one of: ${listBriefly(slugs)}.`, { field: 'model' });
}

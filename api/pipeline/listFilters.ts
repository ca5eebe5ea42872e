import { listOtherModels } from '../../shared/lib/catalog/knownModels.ts';
import { getCatalog } from '../../shared/lib/catalog/catalog.ts';
import type { LedgerFilter } from '../../shared/domain/credits/listFilteredLedger.ts';
import type { GenerationFilter } from '../../shared/domain/generations/listFiltered.ts';
import { findMetadataFilters, parseMetadataFilter } from '../../shared/domain/generations/metadata.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../shared/domain/webhooks/deliveries.ts';
import { INSTANT_FORM, parseInstant } from '../../shared/lib/instant.ts';
import { listBriefly } from '../../shared/lib/listBriefly.ts';
import type { CreatedRange } from '../../shared/lib/listFilter.ts';
import { MODEL_KINDS } from '../../shared/spec/catalog.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { GENERATION_STATUSES, LEDGER_ENTRY_TYPES } from '../../shared/spec/states.ts';

/** Parameters by name, such as those of a query. A repeated parameter is an array. */
export type Parameters = Readonly<Record<string, unknown>>;

const GENERATION_FILTERS = ['status', 'kind', 'model', 'created_after', 'created_before'] as const;
const LEDGER_FILTERS = ['entry_type', 'created_after', 'created_before'] as const;
const DELIVERY_FILTERS = ['status'] as const;

/**
 * Parses the filters of a list of generations. Other parameters are ignored.
 * @throws ServiceError validation_error
 */
export function parseGenerationFilter(parameters: Parameters): GenerationFilter {
  return {
    status: parseChoice(parameters, 'status', GENERATION_STATUSES),
    kind: parseChoice(parameters, 'kind', MODEL_KINDS),
    model: parseModel(parameters),
    metadata: parseMetadataFilter(parameters),
    ...parseCreatedRange(parameters),
  };
}

/**
 * Parses the filters of the ledger. Other parameters are ignored.
 * @throws ServiceError validation_error
 */
export function parseLedgerFilter(parameters: Parameters): LedgerFilter {
  return {
    entryType: parseChoice(parameters, 'entry_type', LEDGER_ENTRY_TYPES),
    ...parseCreatedRange(parameters),
  };
}

/**
 * Parses the filters of the deliveries of a webhook endpoint. Other parameters are ignored.
 * @throws ServiceError validation_error
 */
export function parseDeliveryFilter(parameters: Parameters): { status?: DeliveryStatus } {
  return { status: parseChoice(parameters, 'status', DELIVERY_STATUSES) };
}

/** Parses the slug of a model: of the catalog, or of one outside it that was loaded. Errors name no hidden models. */
function parseModel(parameters: Parameters): string | undefined {
  const { model } = parameters;
  if (typeof model === 'string' && getCatalog().modelsBySlug.get(model)?.hidden === true) return model;
  const offered = getCatalog().models.filter(({ hidden }) => !hidden);
  return parseChoice(
    parameters,
    'model',
    [...offered, ...listOtherModels()].map(({ slug }) => slug),
  );
}

/** Returns the filters of a list of generations as a query, for the links to its other pages. */
export const buildGenerationQuery = (parameters: Parameters): string =>
  buildQuery(parameters, [...GENERATION_FILTERS, ...findMetadataFilters(parameters).map(([name]) => name)]);

/** Returns the filters of the ledger as a query, for the links to its other pages. */
export const buildLedgerQuery = (parameters: Parameters): string => buildQuery(parameters, LEDGER_FILTERS);

/** Returns the filters of the deliveries of a webhook endpoint as a query, for the links to its other pages. */
export const buildDeliveryQuery = (parameters: Parameters): string => buildQuery(parameters, DELIVERY_FILTERS);

/** Returns the parameters of a form without the fields that were left empty. */
export function dropEmptyFields(parameters: Parameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ''));
}

function buildQuery(parameters: Parameters, names: readonly string[]): string {
  const given = names.flatMap((name): [string, string][] => {
    const value = parameters[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return new URLSearchParams(given).toString();
}

function parseCreatedRange(parameters: Parameters): CreatedRange {
  return {
    createdAfter: parseTime(parameters, 'created_after'),
    createdBefore: parseTime(parameters, 'created_before'),
  };
}

function parseChoice<Value extends string>(
  parameters: Parameters,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const value = parameters[name];
  if (value === undefined) return undefined;
  const choice = values.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new ServiceError('validation_error', `${name} must be one of: ${listBriefly(values)}.`, { field: name });
}

function parseTime(parameters: Parameters, name: string): Date | undefined {
  const value = parameters[name];
  if (value === undefined) return undefined;
  const time = typeof value === 'string' ? parseInstant(value) : null;
  if (time !== null) return time;
  throw new ServiceError('validation_error', `${name} must be ${INSTANT_FORM}.`, { field: name });
}

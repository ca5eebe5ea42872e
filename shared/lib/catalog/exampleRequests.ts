import type { CatalogModel, GenerationParams, ModelKind, ParamDefinition, ParamValue } from '../../spec/catalog.ts';
import { type Catalog, getCatalog, getOfferedModels } from './catalog.ts';

/** Requests that documents show as examples, with a model that the service has. */

const EXAMPLE_UPLOAD = 'upload:01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69';

/** A create with a model of the catalog. */
export interface ExampleRequest {
  model: CatalogModel;
  params: GenerationParams;
  /** The parameters with their defaults. */
  shownParams: GenerationParams;
  credits: number;
}

/**
 * Returns the first offered model of a kind that needs no image, or the first one of the kind.
 * @returns undefined if no model of the kind is offered.
 */
export function findExampleModel(kind: ModelKind, catalog: Catalog = getCatalog()): CatalogModel | undefined {
  const offered = getOfferedModels(catalog).filter((model) => model.kind === kind);
  return offered.find(({ inputs }) => Object.values(inputs).every(({ required }) => !required)) ?? offered[0];
}

/** Returns an example of the usual request: an image, or a video if the catalog has no images. */
export function getExampleRequest(catalog: Catalog = getCatalog()): ExampleRequest {
  // A catalog contains a model that is not hidden.
  return buildExampleRequest(
    (findExampleModel('image', catalog) ?? findExampleModel('video', catalog)) as CatalogModel,
  );
}

/** Builds a request with the required parameters of a model, and with its options switched. */
export function buildExampleRequest(model: CatalogModel): ExampleRequest {
  const values = Object.entries(model.definition.params).map(
    ([name, param]) => [name, getExampleValue(param), param.default] as const,
  );
  const images = Object.entries(model.inputs)
    .filter(([, { required }]) => required)
    .map(([name, { max }]) => [name, max > 1 ? [EXAMPLE_UPLOAD] : EXAMPLE_UPLOAD] as const);
  const params = dropAbsent([...values.map(([name, value]) => [name, value] as const), ...images]);
  const shownParams = dropAbsent([
    ...values.map(([name, value, preset]) => [name, value ?? preset] as const),
    ...images,
  ]);
  return { model, params, shownParams, credits: model.price(shownParams) };
}

function dropAbsent(entries: readonly (readonly [string, ParamValue | undefined])[]): GenerationParams {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as GenerationParams;
}

function getExampleValue(param: ParamDefinition): ParamValue | undefined {
  if (param.type === 'boolean' && typeof param.default === 'boolean') return !param.default;
  if (param.required !== true) return undefined;
  if (param.enum !== undefined) return param.enum[0];
  const { type, minimum = 0, maximum = 0 } = param;
  if (type === 'boolean') return true;
  return type === 'string' ? 'example'.padEnd(minimum, '.').slice(0, maximum) : minimum;
}

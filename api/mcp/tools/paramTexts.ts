import type { TObject, TSchema } from 'typebox';
import {
  type CatalogModel,
  type ModelKind,
  type ParamDefinition,
  type ParamValue,
} from '../../../shared/spec/catalog.ts';
import { listPrices } from '../../../shared/lib/catalog/price.ts';

/**
 * Describes each parameter of models for the model that fills it in: with the description of the catalog or a usual
 * one, and whether the price depends on it.
 */
export function describeParams(kind: ModelKind, params: TObject, models: readonly CatalogModel[]): TObject {
  const properties = Object.entries(params.properties).map(([name, schema]) => [
    name,
    { ...schema, description: describeParam(kind, name, schema, models) },
  ]);
  return { ...params, properties: Object.fromEntries(properties) };
}

function describeParam(kind: ModelKind, name: string, schema: TSchema, models: readonly CatalogModel[]): string {
  const { description } = schema as { description?: string };
  const [model, ...others] = models;
  const note = model === undefined || others.length > 0 ? '' : describePriceEffect(model, name);
  return `${description ?? getUsualText(kind, name, schema)}${note}`;
}

function getUsualText(kind: ModelKind, name: string, schema: TSchema): string {
  if (name === 'duration') return `Length of the ${kind} in seconds.`;
  if (name === 'audio') return `Whether the ${kind} gets sound.`;
  if (name === 'aspect_ratio') return `Width to height${describeValues(schema, RATIOS)}.`;
  if (name === 'resolution') return `Size of the ${kind}${describeValues(schema, SIZES)}.`;
  return `The parameter ${name} of the model.`;
}

const RATIOS: Record<string, string> = { '16:9': 'landscape', '9:16': 'portrait', '1:1': 'square' };
const SIZES: Record<string, string> = {
  '1K': 'about 1,000 pixels a side',
  '2K': 'about 2,000',
  '4K': 'about 4,000',
  '720p': '720 pixels on the shorter side',
  '1080p': '1,080',
};

/** Explains the values that have a usual meaning: `: 16:9 is landscape, 9:16 is portrait`. */
function describeValues(schema: TSchema, meanings: Record<string, string>): string {
  const { enum: values, anyOf = [] } = schema as { enum?: unknown[]; anyOf?: { enum?: unknown[] }[] };
  const all = new Set([...(values ?? []), ...anyOf.flatMap((nested) => nested.enum ?? [])].map(String));
  const explained = [...all].flatMap((value) =>
    meanings[value] === undefined ? [] : [`${value} is ${meanings[value]}`],
  );
  return explained.length === 0 ? '' : `: ${explained.join(', ')}`;
}

/** Says whether the price depends on a parameter, if the model has several prices. */
function describePriceEffect({ creditsBase, creditsMax, definition, price }: CatalogModel, name: string): string {
  const param = definition.params[name];
  if (creditsBase === creditsMax || param === undefined) return '';
  const values = listValues(param);
  const changesPrice = listPrices(definition).some(
    ([params]) => new Set(values.map((value) => price({ ...params, [name]: value }))).size > 1,
  );
  return changesPrice ? ' The price depends on it.' : ' The price does not depend on it.';
}

/** Lists all values of a parameter, or the limits of a range. */
function listValues({ enum: values, type, minimum, maximum }: ParamDefinition): ParamValue[] {
  if (values !== undefined) return [...values];
  if (type === 'boolean') return [false, true];
  return type === 'string' || minimum === undefined || maximum === undefined ? [] : [minimum, maximum];
}

import type { GenerationParams, Genmeter, Model } from '@genmeter/client';
import { readAll } from './readList.ts';
import { CommandError, EXIT } from './terminal.ts';

/** JSON Schema of a parameter, as far as a service uses it. */
interface ParamSchema {
  type?: string;
  enum?: (string | number)[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  default?: string | number | boolean;
  description?: string;
}

/** Fields that only models of a configured catalog have. */
interface CatalogFields {
  params_schema: { properties?: Record<string, ParamSchema>; required?: string[] };
  inputs?: Record<string, { role: string; max: number; required: boolean }>;
}

/**
 * Finds a model by its slug, or the first one of a kind that is available. @throws CommandError that names the others.
 */
export async function findModel(
  client: Genmeter,
  { slug, kind }: { slug: string | undefined; kind?: Model['kind'] },
  signal: AbortSignal,
): Promise<Model> {
  const all = await readAll(client.models.list({ signal }));
  const models = all.filter((model) => kind === undefined || model.kind === kind);
  const found =
    slug === undefined
      ? (models.find(({ status }) => status !== 'offline') ?? models[0])
      : models.find((model) => model.slug === slug);
  if (found !== undefined) return found;
  const name = kind === undefined ? 'model' : `${kind} model`;
  const known = models.map((model) => model.slug).join(', ');
  const detail = known === '' ? `The service has no ${name}.` : `There is no ${name} ${slug}. Choose one of: ${known}.`;
  throw new CommandError(EXIT.usage, 'usage', detail);
}

/** Returns the schemas of a model's parameters, and the names of those without which it takes no request. */
function readSchemas(model: Model): { schemas: Record<string, ParamSchema>; required: string[] } {
  const { properties, required = [] } = (model as unknown as CatalogFields).params_schema;
  if (properties !== undefined) return { schemas: properties, required };
  // A service without a catalog lists the accepted values only.
  const { durations, resolutions, aspect_ratios: ratios, audio } = model.params_schema;
  const schemas = {
    ...(durations === undefined ? {} : { duration: { type: 'integer', enum: durations } }),
    resolution: { enum: resolutions },
    aspect_ratio: { enum: ratios },
    ...(audio === true ? { audio: { type: 'boolean', default: false } } : {}),
  };
  return { schemas, required: ['duration', 'resolution'] };
}

/** Parameter of a model, for people. */
export interface ParamDescription {
  name: string;
  values: string;
  fallback: string;
  description: string;
}

/** Describes the parameters of a model and the images that it takes. */
export function describeParams(model: Model): ParamDescription[] {
  const { schemas, required } = readSchemas(model);
  const { inputs = {} } = model as CatalogFields;
  const images = Object.entries(inputs).map(([name, { role, max, required: isRequired }]) => ({
    name,
    values: max === 1 ? 'image' : `up to ${max} images`,
    fallback: isRequired ? 'required' : '-',
    description: role.replaceAll('_', ' '),
  }));
  const params = Object.entries(schemas)
    .filter(([name]) => !(name in inputs))
    .map(([name, schema]) => ({
      name,
      values: describeValues(schema),
      fallback: String(schema.default ?? (required.includes(name) ? (chooseRequired(schema) ?? 'required') : '-')),
      description: schema.description ?? '',
    }));
  return [...params, ...images];
}

function describeValues({ type = 'string', enum: values, minimum, maximum, maxLength }: ParamSchema): string {
  if (values !== undefined) return values.join(' ');
  if (type === 'boolean') return 'true false';
  if (maxLength !== undefined) return `text of at most ${maxLength} characters`;
  return minimum === undefined && maximum === undefined ? type : `${minimum ?? ''} to ${maximum ?? ''}`;
}

/** Returns the value of a required parameter that was not given, the first one that is accepted. */
const chooseRequired = ({ enum: values, minimum }: ParamSchema): string | number | undefined => values?.[0] ?? minimum;

/**
 * Converts parameters to the types that a model expects, and adds required ones. The service checks names and values.
 * @throws CommandError for a text of another type.
 */
export function parseParams(model: Model, texts: Readonly<Record<string, string>>): GenerationParams {
  const { schemas, required } = readSchemas(model);
  const params: GenerationParams = {};
  for (const [name, schema] of Object.entries(schemas))
    if (required.includes(name) && schema.default === undefined) params[name] = chooseRequired(schema);
  for (const [name, text] of Object.entries(texts)) params[name] = parseValue(name, text, schemas[name]?.type);
  return params;
}

function parseValue(name: string, text: string, type: string | undefined): string | number | boolean {
  if (type === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true';
    throw new CommandError(EXIT.usage, 'usage', `Write ${name}=true or ${name}=false.`);
  }
  if (type !== 'integer' && type !== 'number') return text;
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number) && (type === 'number' || Number.isInteger(number))) return number;
  throw new CommandError(
    EXIT.usage,
    'usage',
    `${name} must be a ${type === 'integer' ? 'whole number' : 'number'}, such as ${name}=5.`,
  );
}

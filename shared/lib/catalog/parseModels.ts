import Type, { type Static } from 'typebox';
import {
  type CatalogModel,
  INPUT_ROLES,
  type InputDefinition,
  MODEL_KINDS,
  type ModelDefinition,
  OUTPUTS_MAX,
  type ParamDefinition,
  type Template,
} from '../../spec/catalog.ts';
import { ConfigError } from '../config.ts';
import { validateConfig } from '../configJson.ts';
import { parseInstant } from '../instant.ts';
import { UUID_PATTERN } from '../uuid.ts';
import { LineText, Names, requireUsableName } from './fields.ts';
import { buildModel } from './models.ts';

/** Parses the models of the variable CATALOG. Every error is a sentence that names the path. */

const PATH = 'CATALOG/models';
const INPUT_IMAGES_MAX = 30;
const WEIGHT_MAX = 1_000;
/** Seeds of providers are up to this. */
const INTEGER_MAX = 4_294_967_295;

/** Fields of requests beside the parameters. The MCP tools have both in one object. */
const RESERVED_NAMES = ['prompt', 'model', 'metadata', 'max_credits', 'dry_run', 'wait_seconds', 'webhook_url'];

const strict = { additionalProperties: false };

const ParamNames = Names('^[a-z][a-z0-9_]{0,39}$', 'at most 40 characters of a-z, 0-9 and _, with a letter first');
const Formula = (description: string) =>
  Type.Unsafe<Template>(Type.Union([Type.Number(), Type.String(), Type.Object({})], { description }));

const Input = Type.Object(
  {
    role: Type.Enum([...INPUT_ROLES]),
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: INPUT_IMAGES_MAX })),
    required: Type.Optional(Type.Boolean()),
  },
  strict,
);

const Model = Type.Object(
  {
    uuid: Type.Optional(
      Type.String({ pattern: `^${UUID_PATTERN.replaceAll('a-f', 'a-fA-F')}$`, description: 'a UUID' }),
    ),
    name: LineText(60),
    kind: Type.Enum([...MODEL_KINDS]),
    description: LineText(500),
    upstreams: Type.Array(
      Type.String({
        pattern: '^[a-z0-9_-]+:\\S+$',
        description: 'the name of an upstream and of its model, such as fal:fal-ai/nano-banana-2',
      }),
      { minItems: 1, maxItems: 5, uniqueItems: true },
    ),
    routing: Type.Optional(Type.Unsafe<NonNullable<ModelDefinition['routing']>>({})),
    retry_elsewhere: Type.Optional(Type.Boolean()),
    params: Type.Record(Type.String(), Type.Unknown(), { ...ParamNames, maxProperties: 30, title: 'parameters' }),
    inputs: Type.Optional(Type.Record(Type.String(), Input, { ...ParamNames, maxProperties: 10, title: 'inputs' })),
    outputs: Type.Optional(
      Formula(`a whole number from 1 to ${OUTPUTS_MAX}, the name of a parameter such as "$num_images", or a table`),
    ),
    credits: Formula('a whole number of credits, or a formula of base and per_second'),
    sort_order: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    hidden: Type.Optional(Type.Boolean()),
    deprecated_at: Type.Optional(Type.String({ description: 'a date, or an ISO 8601 time with its zone' })),
  },
  strict,
);

const Models = Type.Record(Type.String(), Model, {
  ...Names(
    '^[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$',
    'at most 64 characters of a-z, 0-9, . and -, from a letter or digit to a letter or digit',
  ),
  maxProperties: 200,
  title: 'models',
});

/**
 * Parses models by slug.
 * @returns the models in the order of `sort_order`, and those with the same one as they are written.
 * @throws ConfigError
 */
export function parseModels(value: unknown): CatalogModel[] {
  const entries = Object.entries(validateConfig(PATH, value, Models));
  if (entries.length === 0)
    throw new ConfigError(`${PATH} must contain a model, or be left out for the default models.`);
  const models = entries.map(([slug, model]) => parseModel(slug, model));
  if (models.every(({ hidden }) => hidden)) throw new ConfigError(`${PATH} must contain a model that is not hidden.`);
  for (const { slug, uuid } of models) {
    const other = models.find((one) => one.uuid === uuid && one.slug !== slug);
    if (other !== undefined) throw new ConfigError(`${PATH}/${other.slug}/uuid must differ from that of ${slug}.`);
  }
  return models.toSorted((one, other) => one.sortOrder - other.sortOrder);
}

function parseModel(slug: string, model: Static<typeof Model>): CatalogModel {
  requireUsableName(PATH, slug);
  const path = `${PATH}/${slug}`;
  const { uuid, upstreams, routing, retry_elsewhere: isRetried, inputs = {}, deprecated_at: deprecatedAt } = model;
  const params = Object.entries(model.params).map(([name, param]): [string, ParamDefinition] => {
    requireParamName(`${path}/params`, name);
    return [name, parseParam(`${path}/params/${name}`, param)];
  });
  checkInputs(`${path}/inputs`, inputs, Object.keys(model.params));
  if (routing !== undefined) checkRouting(`${path}/routing`, routing, upstreams.length);
  if (isRetried === true && upstreams.length === 1)
    throw new ConfigError(`${path}/retry_elsewhere requires another upstream in ${path}/upstreams.`);
  const definition: ModelDefinition = {
    ...model,
    ...(uuid === undefined ? {} : { uuid: uuid.toLowerCase() }),
    ...(deprecatedAt === undefined ? {} : { deprecated_at: readTime(`${path}/deprecated_at`, deprecatedAt) }),
    params: Object.fromEntries(params),
  };
  try {
    return buildModel(slug, definition);
  } catch (error) {
    throw new ConfigError(`${path}/credits does not fit the parameters: ${(error as Error).message}.`);
  }
}

function requireParamName(path: string, name: string): void {
  requireUsableName(path, name);
  if (RESERVED_NAMES.includes(name))
    throw new ConfigError(`${path}/${name} must have another name: requests have a field with this name.`);
}

function checkInputs(path: string, inputs: Record<string, InputDefinition>, params: readonly string[]): void {
  const roles = new Set<string>();
  for (const [name, { role, max = 1 }] of Object.entries(inputs)) {
    requireParamName(path, name);
    if (params.includes(name)) throw new ConfigError(`${path}/${name} must differ from the names in params.`);
    if (roles.has(role)) throw new ConfigError(`${path}/${name}/role must differ from that of the other inputs.`);
    roles.add(role);
    if (params.includes(role))
      throw new ConfigError(
        `${path}/${name}/role must not be the name of a parameter: "$${role}" would be both in templates.`,
      );
    if (role !== 'reference' && max > 1)
      throw new ConfigError(`${path}/${name}/max must be 1: only the role reference takes several images.`);
  }
}

function checkRouting(path: string, routing: unknown, upstreams: number): void {
  if (routing === 'cheapest') return;
  if (!Array.isArray(routing) || routing.length !== upstreams)
    throw new ConfigError(
      `${path} must be "cheapest", or a list with a weight for each of the ${upstreams} upstreams.`,
    );
  const weights = validateConfig(path, routing, Weights);
  if (!weights.some((weight) => weight > 0)) throw new ConfigError(`${path} must contain a weight above 0.`);
}

const Weights = Type.Array(Type.Integer({ minimum: 0, maximum: WEIGHT_MAX }));

function readTime(path: string, value: string): string {
  const time = parseInstant(value);
  if (time !== null) return time.toISOString();
  throw new ConfigError(`${path} must be a date, or an ISO 8601 time with its zone.`);
}

const COMMON = {
  default: Type.Optional(Type.Unsafe<string | number | boolean>({})),
  required: Type.Optional(Type.Boolean()),
  description: Type.Optional(LineText(300)),
};
const Length = Type.Integer({ minimum: 0, maximum: 2_000 });
const List = <Item extends Type.TSchema>(item: Item) =>
  Type.Array(item, { minItems: 1, maxItems: 100, uniqueItems: true });

/** Schemas of parameters, by their type. */
const PARAMS = {
  enum: Type.Object(
    {
      enum: Type.Union([List(Type.Number()), List(Type.String({ minLength: 1, maxLength: 100 }))], {
        description: 'a list of 1 to 100 different numbers, or of as many different texts of 1 to 100 characters',
      }),
      ...COMMON,
    },
    strict,
  ),
  integer: numberSchema('integer', Type.Integer({ minimum: -INTEGER_MAX, maximum: INTEGER_MAX })),
  number: numberSchema('number', Type.Number({ minimum: -INTEGER_MAX, maximum: INTEGER_MAX })),
  boolean: Type.Object({ type: Type.Literal('boolean'), ...COMMON }, strict),
  string: Type.Object(
    { type: Type.Literal('string'), minimum: Type.Optional(Length), maximum: Length, ...COMMON },
    strict,
  ),
};

function numberSchema(type: 'integer' | 'number', limit: Type.TSchema) {
  return Type.Object({ type: Type.Literal(type), minimum: limit, maximum: limit, ...COMMON }, strict);
}

/** Parses a parameter of a model. @throws ConfigError */
function parseParam(path: string, value: unknown): ParamDefinition {
  const { type, enum: values } = validateConfig(path, value, AnyParam);
  if (type === undefined && values === undefined)
    throw new ConfigError(`${path} must have either "enum", with the accepted values, or "type".`);
  const form = values !== undefined || type === undefined ? 'enum' : type;
  const given = validateConfig(path, value, PARAMS[form]) as ParamDefinition;
  const param = form === 'string' ? { minimum: 0, ...given } : given;
  if (param.minimum !== undefined && param.maximum !== undefined && param.minimum > param.maximum)
    throw new ConfigError(`${path}/minimum must be at most the maximum.`);
  if (param.default === undefined) return param;
  if (param.required === true)
    throw new ConfigError(`${path}/default must be left out, because the parameter is required.`);
  if (isAccepted(param, param.default)) return param;
  throw new ConfigError(`${path}/default must be a value that the parameter accepts.`);
}

const AnyParam = Type.Object({
  type: Type.Optional(Type.Enum(['integer', 'number', 'boolean', 'string'])),
  enum: Type.Optional(Type.Unknown()),
});

function isAccepted(param: ParamDefinition, value: unknown): boolean {
  const { enum: values, type, minimum = 0, maximum = 0 } = param;
  if (values !== undefined) return values.includes(value as string | number);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'string') return typeof value === 'string' && isWithin(Array.from(value).length, minimum, maximum);
  return (
    typeof value === 'number' && (type === 'number' || Number.isInteger(value)) && isWithin(value, minimum, maximum)
  );
}

function isWithin(value: number, minimum: number, maximum: number): boolean {
  return value >= minimum && value <= maximum;
}

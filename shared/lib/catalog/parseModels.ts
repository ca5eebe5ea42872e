import {
  type CatalogModel,
  INPUT_ROLES,
  type InputDefinition,
  MODEL_KINDS,
  type ModelDefinition,
  OUTPUTS_MAX,
  type ParamDefinition,
  type Routing,
  type Template,
} from '../../spec/catalog.ts';
import { ConfigError } from '../config.ts';
import { parseInstant } from '../instant.ts';
import { isUuid } from '../uuid.ts';
import {
  countCharacters,
  readBoolean,
  readChoice,
  readInteger,
  readList,
  readObject,
  readOptional,
  readText,
  requireName,
} from './fields.ts';
import { buildModel } from './models.ts';

/** Parses the models of the variable CATALOG. Every error is one sentence that names the path. */

const PATH = 'CATALOG/models';
const MODELS_MAX = 200;
const UPSTREAMS_MAX = 5;
const PARAMS_MAX = 30;
const INPUTS_MAX = 10;
const INPUT_IMAGES_MAX = 30;
const NAME_MAX_CHARACTERS = 60;
const DESCRIPTION_MAX_CHARACTERS = 500;
const SORT_ORDER_MAX = 1_000_000;

const MODEL_SLUG = /^[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/;
const MODEL_SLUG_FORM = 'at most 64 characters of a-z, 0-9, . and -, from a letter or digit to a letter or digit';
const PARAM_NAME = /^[a-z][a-z0-9_]{0,39}$/;
const PARAM_NAME_FORM = 'at most 40 characters of a-z, 0-9 and _, with a letter first';
const UPSTREAM_MODEL = /^[a-z0-9_-]+:\S+$/;

/** Fields of requests beside the parameters. The MCP tools have both in one object. */
const RESERVED_NAMES = ['prompt', 'model', 'metadata', 'max_credits', 'dry_run', 'wait_seconds', 'webhook_url'];

const MODEL_FIELDS = [
  'uuid',
  'name',
  'kind',
  'description',
  'upstreams',
  'routing',
  'retry_elsewhere',
  'params',
  'inputs',
  'outputs',
  'credits',
  'sort_order',
  'hidden',
  'deprecated_at',
];

/**
 * Parses models by slug.
 * @returns the models in the order of `sort_order`, and those with the same one as they are written.
 * @throws ConfigError
 */
export function parseModels(value: unknown): CatalogModel[] {
  const entries = Object.entries(readObject(PATH, value));
  if (entries.length === 0)
    throw new ConfigError(`${PATH} must contain a model, or be left out for the default models.`);
  if (entries.length > MODELS_MAX) throw new ConfigError(`${PATH} must contain at most ${MODELS_MAX} models.`);
  const models = entries.map(([slug, model]) => parseModel(slug, model));
  if (models.every(({ hidden }) => hidden)) throw new ConfigError(`${PATH} must contain a model that is not hidden.`);
  for (const { slug, uuid } of models) {
    const other = models.find((one) => one.uuid === uuid && one.slug !== slug);
    if (other !== undefined) throw new ConfigError(`${PATH}/${other.slug}/uuid must differ from that of ${slug}.`);
  }
  return models.toSorted((one, other) => one.sortOrder - other.sortOrder);
}

function parseModel(slug: string, value: unknown): CatalogModel {
  requireName(PATH, slug, MODEL_SLUG, MODEL_SLUG_FORM);
  const path = `${PATH}/${slug}`;
  const fields = readObject(path, value, MODEL_FIELDS);
  const params = readParams(`${path}/params`, fields['params']);
  const upstreams = readUpstreams(`${path}/upstreams`, fields['upstreams']);
  const definition = dropUndefined({
    uuid: readOptional(fields['uuid'], (uuid) => readUuid(`${path}/uuid`, uuid)),
    name: readText(`${path}/name`, fields['name'], NAME_MAX_CHARACTERS),
    kind: readChoice(`${path}/kind`, fields['kind'], MODEL_KINDS),
    description: readText(`${path}/description`, fields['description'], DESCRIPTION_MAX_CHARACTERS),
    upstreams,
    routing: readOptional(fields['routing'], (routing) => readRouting(`${path}/routing`, routing, upstreams.length)),
    retry_elsewhere: readOptional(fields['retry_elsewhere'], (flag) => readRetry(path, flag, upstreams.length)),
    params,
    inputs: readOptional(fields['inputs'], (inputs) => readInputs(`${path}/inputs`, inputs, Object.keys(params))),
    outputs: readOptional(fields['outputs'], (outputs) => readFormula(`${path}/outputs`, outputs, OUTPUTS_FORM)),
    credits: readFormula(`${path}/credits`, fields['credits'], CREDITS_FORM),
    sort_order: readOptional(fields['sort_order'], (order) =>
      readInteger(`${path}/sort_order`, order, 0, SORT_ORDER_MAX),
    ),
    hidden: readOptional(fields['hidden'], (hidden) => readBoolean(`${path}/hidden`, hidden)),
    deprecated_at: readOptional(fields['deprecated_at'], (time) => readTime(`${path}/deprecated_at`, time)),
  });
  try {
    return buildModel(slug, definition);
  } catch (error) {
    throw new ConfigError(`${path}/credits does not fit the parameters: ${(error as Error).message}.`);
  }
}

function readParams(path: string, value: unknown): ModelDefinition['params'] {
  const entries = Object.entries(readObject(path, value));
  if (entries.length > PARAMS_MAX) throw new ConfigError(`${path} must contain at most ${PARAMS_MAX} parameters.`);
  return Object.fromEntries(
    entries.map(([name, param]) => {
      requireParamName(path, name);
      return [name, parseParam(`${path}/${name}`, param)];
    }),
  );
}

function requireParamName(path: string, name: string): void {
  requireName(path, name, PARAM_NAME, PARAM_NAME_FORM);
  if (RESERVED_NAMES.includes(name))
    throw new ConfigError(`${path}/${name} must have another name: requests have a field with this name.`);
}

function readInputs(path: string, value: unknown, params: string[]): Record<string, InputDefinition> {
  const entries = Object.entries(readObject(path, value));
  if (entries.length > INPUTS_MAX) throw new ConfigError(`${path} must contain at most ${INPUTS_MAX} inputs.`);
  const roles = new Set<string>();
  const inputs = entries.map(([name, input]): [string, InputDefinition] => {
    requireParamName(path, name);
    if (params.includes(name)) throw new ConfigError(`${path}/${name} must differ from the names in params.`);
    const fields = readObject(`${path}/${name}`, input, ['role', 'max', 'required']);
    const role = readChoice(`${path}/${name}/role`, fields['role'], INPUT_ROLES);
    if (roles.has(role)) throw new ConfigError(`${path}/${name}/role must differ from that of the other inputs.`);
    roles.add(role);
    if (params.includes(role))
      throw new ConfigError(
        `${path}/${name}/role must not be the name of a parameter: "$${role}" would be both in templates.`,
      );
    const max = readOptional(fields['max'], (limit) =>
      readInteger(`${path}/${name}/max`, limit, 1, role === 'reference' ? INPUT_IMAGES_MAX : 1),
    );
    const required = readOptional(fields['required'], (flag) => readBoolean(`${path}/${name}/required`, flag));
    return [name, dropUndefined({ role, max, required })];
  });
  return Object.fromEntries(inputs);
}

function readUpstreams(path: string, value: unknown): string[] {
  const upstreams = readList(path, value, UPSTREAMS_MAX).map((upstream, index) => {
    if (typeof upstream === 'string' && UPSTREAM_MODEL.test(upstream)) return upstream;
    throw new ConfigError(
      `${path}/${index} must be the name of an upstream and of its model, such as fal:fal-ai/nano-banana-2.`,
    );
  });
  if (new Set(upstreams).size === upstreams.length) return upstreams;
  throw new ConfigError(`${path} must not contain a value twice.`);
}

const WEIGHT_MAX = 1_000;

function readRouting(path: string, value: unknown, upstreams: number): Routing {
  if (value === 'cheapest') return value;
  if (!Array.isArray(value) || value.length !== upstreams)
    throw new ConfigError(
      `${path} must be "cheapest", or a list with a weight for each of the ${upstreams} upstreams.`,
    );
  const weights = value.map((weight, index) => readInteger(`${path}/${index}`, weight, 0, WEIGHT_MAX));
  if (weights.some((weight) => weight > 0)) return weights;
  throw new ConfigError(`${path} must contain a weight above 0.`);
}

function readRetry(path: string, value: unknown, upstreams: number): boolean {
  const isRetried = readBoolean(`${path}/retry_elsewhere`, value);
  if (!isRetried || upstreams > 1) return isRetried;
  throw new ConfigError(`${path}/retry_elsewhere requires another upstream in ${path}/upstreams.`);
}

const CREDITS_FORM = 'a whole number of credits, or a formula of base and per_second';
const OUTPUTS_FORM = `a whole number from 1 to ${OUTPUTS_MAX}, the name of a parameter such as "$num_images", or a table`;

function readFormula(path: string, value: unknown, form: string): Template {
  const isFormula = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (typeof value === 'number' || typeof value === 'string' || isFormula) return value as Template;
  throw new ConfigError(`${path} must be ${form}.`);
}

function readUuid(path: string, value: unknown): string {
  if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
  throw new ConfigError(`${path} must be a UUID.`);
}

function readTime(path: string, value: unknown): string {
  const time = typeof value === 'string' ? parseInstant(value) : null;
  if (time !== null) return time.toISOString();
  throw new ConfigError(`${path} must be a date, or an ISO 8601 time with its zone.`);
}

function dropUndefined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

const ENUM_VALUES_MAX = 100;
const ENUM_TEXT_MAX_CHARACTERS = 100;
const TEXT_MAX_CHARACTERS = 2_000;
const PARAM_DESCRIPTION_MAX_CHARACTERS = 300;
/** Seeds of providers are up to this. */
const INTEGER_MAX = 4_294_967_295;

const PARAM_TYPES = ['integer', 'number', 'boolean', 'string'] as const;
const PARAM_FIELDS = ['enum', 'type', 'minimum', 'maximum', 'default', 'required', 'description'];

type Scalar = string | number | boolean;

/** Parses a parameter of a model. @throws ConfigError */
function parseParam(path: string, value: unknown): ParamDefinition {
  const fields = readObject(path, value, PARAM_FIELDS);
  if ((fields['enum'] === undefined) === (fields['type'] === undefined))
    throw new ConfigError(`${path} must have either "enum", with the accepted values, or "type".`);
  const values = fields['enum'] === undefined ? readType(path, fields) : { enum: readEnum(path, fields) };
  const required = readOptional(fields['required'], (flag) => readBoolean(`${path}/required`, flag));
  if (required === true && fields['default'] !== undefined)
    throw new ConfigError(`${path}/default must be left out, because the parameter is required.`);
  return {
    ...values,
    ...(fields['default'] === undefined ? {} : { default: readDefault(path, values, fields['default']) }),
    ...(required === undefined ? {} : { required }),
    ...(fields['description'] === undefined
      ? {}
      : { description: readText(`${path}/description`, fields['description'], PARAM_DESCRIPTION_MAX_CHARACTERS) }),
  };
}

function readEnum(path: string, fields: Record<string, unknown>): (string | number)[] {
  for (const name of ['minimum', 'maximum']) {
    if (fields[name] !== undefined) throw new ConfigError(`${path}/${name} must be left out beside "enum".`);
  }
  const values = readList(`${path}/enum`, fields['enum'], ENUM_VALUES_MAX);
  const isAllowed = values.every((value) => Number.isFinite(value)) || values.every(isShortText);
  if (!isAllowed)
    throw new ConfigError(
      `${path}/enum must contain only numbers, or only texts of 1 to ${ENUM_TEXT_MAX_CHARACTERS} characters.`,
    );
  if (new Set(values).size !== values.length) throw new ConfigError(`${path}/enum must not contain a value twice.`);
  return values as (string | number)[];
}

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= ENUM_TEXT_MAX_CHARACTERS;
}

function readType(
  path: string,
  fields: Record<string, unknown>,
): Pick<ParamDefinition, 'type' | 'minimum' | 'maximum'> {
  const type = readChoice(`${path}/type`, fields['type'], PARAM_TYPES);
  if (type === 'boolean') {
    for (const name of ['minimum', 'maximum']) {
      if (fields[name] !== undefined) throw new ConfigError(`${path}/${name} must be left out for a boolean.`);
    }
    return { type };
  }
  const isText = type === 'string';
  const minimum = readLimit(`${path}/minimum`, type, isText ? (fields['minimum'] ?? 0) : fields['minimum']);
  const maximum = readLimit(`${path}/maximum`, type, fields['maximum']);
  if (minimum > maximum) throw new ConfigError(`${path}/minimum must be at most the maximum.`);
  return { type, minimum, maximum };
}

/** Reads a limit of a number, or of the length of a text. */
function readLimit(path: string, type: 'integer' | 'number' | 'string', value: unknown): number {
  if (type === 'string') return readInteger(path, value, 0, TEXT_MAX_CHARACTERS);
  if (type === 'integer') return readInteger(path, value, -INTEGER_MAX, INTEGER_MAX);
  if (typeof value === 'number' && Math.abs(value) <= INTEGER_MAX) return value;
  throw new ConfigError(`${path} must be a number from -${INTEGER_MAX} to ${INTEGER_MAX}.`);
}

function readDefault(path: string, param: ParamDefinition, value: unknown): Scalar {
  if (isAccepted(param, value)) return value;
  throw new ConfigError(`${path}/default must be a value that the parameter accepts.`);
}

function isAccepted(param: ParamDefinition, value: unknown): value is Scalar {
  const { enum: values, type, minimum = 0, maximum = 0 } = param;
  if (values !== undefined) return values.includes(value as string | number);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'string') return typeof value === 'string' && isWithin(countCharacters(value), minimum, maximum);
  return (
    typeof value === 'number' && (type === 'number' || Number.isInteger(value)) && isWithin(value, minimum, maximum)
  );
}

function isWithin(value: number, minimum: number, maximum: number): boolean {
  return value >= minimum && value <= maximum;
}

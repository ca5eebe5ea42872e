import {
  type CatalogModel,
  INPUT_ROLES,
  type InputDefinition,
  MODEL_KINDS,
  type ModelDefinition,
  type Template,
} from '../../spec/catalog.ts';
import { ConfigError } from '../config.ts';
import { parseInstant } from '../instant.ts';
import { isUuid } from '../uuid.ts';
import {
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
import { parseParam } from './parseParam.ts';

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
  'params',
  'inputs',
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
  const definition = dropUndefined({
    uuid: readOptional(fields['uuid'], (uuid) => readUuid(`${path}/uuid`, uuid)),
    name: readText(`${path}/name`, fields['name'], NAME_MAX_CHARACTERS),
    kind: readChoice(`${path}/kind`, fields['kind'], MODEL_KINDS),
    description: readText(`${path}/description`, fields['description'], DESCRIPTION_MAX_CHARACTERS),
    upstreams: readUpstreams(`${path}/upstreams`, fields['upstreams']),
    params,
    inputs: readOptional(fields['inputs'], (inputs) => readInputs(`${path}/inputs`, inputs, Object.keys(params))),
    credits: readCredits(`${path}/credits`, fields['credits']),
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

function readCredits(path: string, value: unknown): Template {
  const isFormula = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (typeof value === 'number' || typeof value === 'string' || isFormula) return value as Template;
  throw new ConfigError(`${path} must be a whole number of credits, or a formula of base and per_second.`);
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

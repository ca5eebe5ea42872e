import Type, { type TObject, type TSchema } from 'typebox';
import { v5 as uuidv5 } from 'uuid';
import type { CatalogModel, InputDefinition, ModelDefinition, ParamDefinition } from '../../spec/catalog.ts';
import { DEFAULT_MODELS } from '../../spec/defaultModels.ts';
import { isOptional } from './paramValues.ts';
import { computePrice, getAbsentParams, listPrices } from './price.ts';

/** Namespace of the UUIDs of models that define none. */
const MODEL_NAMESPACE = 'a3b9c1f4-6d2e-4c07-9f58-1e7d40b2c6a5';

/** Builds a model from its definition. @throws Error if some parameters have no price. */
export function buildModel(slug: string, definition: ModelDefinition): CatalogModel {
  const { name, kind, description, params } = definition;
  const absent = getAbsentParams(definition);
  const prices = listPrices(definition);
  return {
    uuid: definition.uuid ?? DEFAULT_MODELS[slug]?.uuid ?? uuidv5(slug, MODEL_NAMESPACE),
    slug,
    name,
    kind,
    description,
    creditsBase: prices.reduce((least, [, price]) => Math.min(least, price), Infinity),
    creditsMax: prices.reduce((most, [, price]) => Math.max(most, price), 0),
    sortOrder: definition.sort_order ?? 0,
    hidden: definition.hidden ?? false,
    deprecatedAt: definition.deprecated_at ?? null,
    params: buildParamsObject(definition),
    paramsSchema: buildParamsSchema(params),
    optionalParams: Object.keys(params).filter((param) => isOptional(params[param] as ParamDefinition)),
    inputs: Object.fromEntries(
      Object.entries(definition.inputs ?? {}).map(([param, { role, max = 1, required = false }]) => [
        param,
        { role, max, required },
      ]),
    ),
    upstreams: definition.upstreams ?? null,
    definition,
    price: (values) => computePrice(definition, { ...absent, ...values }),
  };
}

function buildParamsObject({ params, inputs = {} }: ModelDefinition): TObject {
  const entries = Object.entries(params);
  const properties = Object.fromEntries(entries.map(([name, param]) => [name, buildParam(param)]));
  return Type.Object(
    { ...properties, ...buildInputParams(inputs) },
    {
      additionalProperties: false,
      required: [
        ...entries.filter(([, { required }]) => required === true).map(([name]) => name),
        ...listRequiredInputs(inputs),
      ],
    },
  );
}

function buildParam(param: ParamDefinition): TSchema {
  const { default: defaultValue, description } = param;
  const options = {
    ...(defaultValue === undefined ? {} : { default: defaultValue }),
    ...(description === undefined ? {} : { description }),
  };
  if (param.enum !== undefined) return Type.Enum(param.enum as [string | number], options);
  const { type, minimum, maximum } = param;
  if (type === 'boolean') return Type.Boolean(options);
  if (type === 'string')
    return Type.String({ minLength: minimum ?? 0, maxLength: maximum ?? 0, format: 'text', ...options });
  const limits = { minimum: minimum ?? 0, maximum: maximum ?? 0 };
  return type === 'integer' ? Type.Integer({ ...limits, ...options }) : Type.Number({ ...limits, ...options });
}

/** Lists the accepted values by parameter: those of a list in the plural, `true` for an option, limits for a range. */
function buildParamsSchema(params: ModelDefinition['params']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, { enum: values, type, minimum = 0, maximum }]) => {
      if (values !== undefined) return [`${name}s`, values];
      return [name, type === 'boolean' ? true : { type, minimum, maximum }];
    }),
  );
}

const ROLE_DESCRIPTIONS: Record<InputDefinition['role'], string> = {
  first_frame: 'Image with which the video begins',
  last_frame: 'Image with which the video ends',
  reference: 'Image to use as a reference',
  mask: 'Image that marks the part of the reference to replace, as the model expects it',
};

const INPUT_FORMS =
  '"generation:<uuid>" for an image of the account, "upload:<uuid>" for an upload, or an https address of a PNG, JPEG or WebP';

/** Builds the schemas of the parameters that take images. Their form is checked when the images are prepared. */
function buildInputParams(inputs: Readonly<Record<string, InputDefinition>>): Record<string, TSchema> {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { required = false, ...input }]) => {
      const schema = buildInputParam(input);
      return [name, required ? schema : Type.Optional(schema)];
    }),
  );
}

function buildInputParam({ role, max = 1 }: InputDefinition): TSchema {
  const description = `${ROLE_DESCRIPTIONS[role]}: ${INPUT_FORMS}.`;
  if (max === 1) return Type.String({ minLength: 1, format: 'text', description });
  return Type.Array(Type.String({ minLength: 1, format: 'text' }), { minItems: 1, maxItems: max, description });
}

/** Lists the parameters that a request must have an image for. */
function listRequiredInputs(inputs: Readonly<Record<string, InputDefinition>>): string[] {
  return Object.entries(inputs)
    .filter(([, { required }]) => required === true)
    .map(([name]) => name);
}

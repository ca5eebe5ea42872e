import Type, { type TObject, type TSchema } from 'typebox';
import { v5 as uuidv5 } from 'uuid';
import type { CatalogModel, GenerationParams, ModelDefinition, ParamDefinition } from '../../spec/catalog.ts';
import { buildInputParams, listRequiredInputs } from './inputParams.ts';
import { listParams } from './paramValues.ts';
import { computePrice } from './price.ts';

/** Namespace of the UUIDs of models that define none. */
const MODEL_NAMESPACE = 'a3b9c1f4-6d2e-4c07-9f58-1e7d40b2c6a5';

/** Builds a model from its definition, which is valid. */
export function buildModel(slug: string, definition: ModelDefinition): CatalogModel {
  const price = (params: GenerationParams) => computePrice(definition.credits, params);
  return {
    uuid: definition.uuid ?? uuidv5(slug, MODEL_NAMESPACE),
    slug,
    name: definition.name,
    kind: definition.kind,
    description: definition.description,
    creditsBase: Math.min(...listParams(definition).map(price)),
    sortOrder: definition.sort_order ?? 0,
    hidden: definition.hidden ?? false,
    deprecatedAt: definition.deprecated_at ?? null,
    params: buildParamsObject(definition),
    paramsSchema: buildParamsSchema(definition.params),
    inputs: Object.fromEntries(
      Object.entries(definition.inputs ?? {}).map(([name, { role, max = 1, required = false }]) => [
        name,
        { role, max, required },
      ]),
    ),
    upstreams: definition.upstreams ?? null,
    definition,
    price,
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
  if (type === 'string') return Type.String({ minLength: minimum, maxLength: maximum, format: 'text', ...options });
  return type === 'integer'
    ? Type.Integer({ minimum, maximum, ...options })
    : Type.Number({ minimum, maximum, ...options });
}

/** Lists the accepted values by parameter: those of a list in the plural, `true` for an option, limits for a range. */
function buildParamsSchema(params: ModelDefinition['params']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, { enum: values, type, minimum, maximum }]) => {
      if (values !== undefined) return [`${name}s`, values];
      return [name, type === 'boolean' ? true : { type, minimum, maximum }];
    }),
  );
}

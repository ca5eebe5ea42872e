import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';
import { ConfigError } from '../../lib/config.ts';
import { parseConfigJson } from '../../lib/configJson.ts';
import type { Template } from '../../lib/template.ts';
import { Protocol } from './described/protocol.ts';
import { ADAPTER_NAMES } from './modelPresets.ts';
import { PriceTemplate } from './priceTemplate.ts';

const Address = Type.String({ pattern: '^https?://\\S+$', description: 'an address such as http://host/v1' });
const Secret = Type.String({ pattern: '^[^$]', description: 'the key itself, or ${NAME} for a variable' });

/** Schema of the variable UPSTREAMS. */
const UpstreamsVariable = Type.Object(
  {
    upstreams: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[a-z0-9_-]+$' }),
        Type.Object(
          {
            adapter: Type.Optional(Type.Enum([...ADAPTER_NAMES])),
            base_url: Type.Optional(Address),
            key: Type.Optional(Secret),
            key_id: Type.Optional(Secret),
            provider: Type.Optional(Type.String()),
            protocol: Type.Optional(Protocol),
            concurrency: Type.Optional(Type.Integer({ minimum: 1 })),
            per_minute: Type.Optional(Type.Integer({ minimum: 1 })),
            local: Type.Optional(Type.Boolean()),
            form: Type.Optional(Type.Boolean()),
            callbacks: Type.Optional(
              Type.Union([Type.Boolean(), Address], { description: 'true, false, or an address such as https://host' }),
            ),
            callback_keys_url: Type.Optional(Address),
            callback_secret: Type.Optional(Secret),
          },
          { additionalProperties: false },
        ),
        { additionalProperties: false },
      ),
    ),
    models: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            input: Type.Optional(Type.Unsafe<Template>(Type.Object({}))),
            cents: Type.Optional(PriceTemplate),
            cents_per_second: Type.Optional(PriceTemplate),
          },
          { additionalProperties: false },
        ),
      ),
    ),
  },
  { additionalProperties: false },
);
export type UpstreamsVariable = Static<typeof UpstreamsVariable>;
/** An upstream of the variable. */
export type DeclaredUpstream = NonNullable<UpstreamsVariable['upstreams']>[string];

const ajv = new Ajv2020({ allErrors: true, verbose: true, validateSchema: false });

/**
 * Parses the variable UPSTREAMS.
 * @throws ConfigError that names the error, and repeats nothing that may be a key.
 */
export function parseUpstreamsVariable(text: string): UpstreamsVariable {
  const value = parseConfigJson('UPSTREAMS', text);
  // Nothing is configured: to compile the schema takes a tenth of the time of a start.
  if (JSON.stringify(value) === '{}') return {};
  const validate = ajv.compile<UpstreamsVariable>(UpstreamsVariable);
  if (validate(value)) return value;
  const messages = new Set((validate.errors ?? []).filter(isNotUnionBranchError).map(describeVariableError));
  throw new ConfigError([...messages].join(' '));
}

/** Drops the errors of the branches of a union: that no branch matches says more. */
function isNotUnionBranchError({ schemaPath }: ErrorObject): boolean {
  return !/\/anyOf\/\d/.test(schemaPath);
}

function describeVariableError({ instancePath, keyword, params, propertyName, parentSchema }: ErrorObject): string {
  const path = `UPSTREAMS${instancePath.replaceAll('~1', '/')}`;
  const { allowedValues, additionalProperty, missingProperty, type, limit } = params as Record<string, unknown>;
  const description = parentSchema?.['description'];
  switch (keyword) {
    case 'additionalProperties': {
      const allowedFields = Object.keys((parentSchema?.['properties'] as object | undefined) ?? {});
      if (allowedFields.length === 0)
        return `${path}: the name "${String(additionalProperty)}" ${describeNames(path)}.`;
      return `${path} has no field "${String(additionalProperty)}"; allowed fields are ${allowedFields.join(', ')}.`;
    }
    case 'required':
      return `${path} must have "${String(missingProperty)}".`;
    case 'enum':
      return `${path} must be one of ${(allowedValues as string[]).join(', ')}.`;
    case 'pattern':
      if (propertyName !== undefined) return `${path}: the name "${propertyName}" ${describeNames(path)}.`;
      return `${path} must be ${String(description)}.`;
    case 'anyOf':
      return `${path} must be ${String(description)}.`;
    case 'type':
      return `${path} must be ${/^[aeio]/.test(String(type)) ? 'an' : 'a'} ${String(type)}.`;
    default:
      return `${path} must be ${keyword === 'minimum' ? `at least ${String(limit)}` : 'of another form'}.`;
  }
}

function describeNames(path: string): string {
  return path.endsWith('/statuses') ? 'must be a status such as 202' : 'may contain only a-z, 0-9, _ and -';
}

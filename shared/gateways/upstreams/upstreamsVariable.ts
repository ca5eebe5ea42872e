import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';
import { ConfigError } from '../../lib/config.ts';
import { parseConfigJson } from '../../lib/configJson.ts';
import { ADAPTER_NAMES } from './modelPresets.ts';
import type { Template } from '../../lib/template.ts';

/** Upper bound for the price of a run or of a second, to catch typing errors. */
export const PRICE_MAX_CENTS = 100_000;

const PriceTemplate = Type.Unsafe<Template>(
  Type.Union([Type.Number({ minimum: 0, maximum: PRICE_MAX_CENTS }), Type.Object({})]),
);

/** Schema of the variable UPSTREAMS. */
const UpstreamsVariable = Type.Object(
  {
    upstreams: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[a-z0-9_-]+$' }),
        Type.Object(
          {
            adapter: Type.Optional(Type.Enum([...ADAPTER_NAMES])),
            base_url: Type.Optional(Type.String({ pattern: '^https?://\\S+$' })),
            key: Type.Optional(Type.String({ pattern: '^[^$]' })),
            concurrency: Type.Optional(Type.Integer({ minimum: 1 })),
            per_minute: Type.Optional(Type.Integer({ minimum: 1 })),
            local: Type.Optional(Type.Boolean()),
            form: Type.Optional(Type.Boolean()),
            callbacks: Type.Optional(Type.Union([Type.Boolean(), Type.String({ pattern: '^https?://\\S+$' })])),
            callback_keys_url: Type.Optional(Type.String({ pattern: '^https?://\\S+$' })),
            callback_secret: Type.Optional(Type.String({ pattern: '^whsec_' })),
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

const ajv = new Ajv2020({ allErrors: true, verbose: true, validateSchema: false });

/**
 * Parses the variable UPSTREAMS.
 * @throws ConfigError that names the error, and repeats nothing that may be a key.
 */
export function parseUpstreamsVariable(text: string): UpstreamsVariable {
  const value = parseConfigJson('UPSTREAMS', text);
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
  const { pattern, allowedValues, additionalProperty, type, limit } = params as Record<string, unknown>;
  switch (keyword) {
    case 'additionalProperties': {
      const allowedFields = Object.keys((parentSchema?.['properties'] as object | undefined) ?? {});
      if (allowedFields.length === 0)
        return `${path}: the name "${String(additionalProperty)}" may contain only a-z, 0-9, _ and -.`;
      return `${path} has no field "${String(additionalProperty)}"; allowed fields are ${allowedFields.join(', ')}.`;
    }
    case 'enum':
      return `${path} must be one of ${(allowedValues as string[]).join(', ')}.`;
    case 'pattern':
      if (propertyName !== undefined) return `${path}: the name "${propertyName}" may contain only a-z, 0-9, _ and -.`;
      if (path.endsWith('/callback_secret')) return `${path} must begin with whsec_, or be \${NAME} for a variable.`;
      return `${path} must be ${String(pattern).startsWith('^https') ? 'an address such as http://host/v1' : 'the key itself, or ${NAME} for a variable'}.`;
    case 'anyOf':
      if (path.endsWith('/callbacks')) return `${path} must be true, false, or an address such as https://host.`;
      return `${path} must be a number from 0 to ${PRICE_MAX_CENTS}, or a table with "$by".`;
    case 'type':
      return `${path} must be ${/^[aeio]/.test(String(type)) ? 'an' : 'a'} ${String(type)}.`;
    default:
      return `${path} must be ${keyword === 'minimum' ? `at least ${String(limit)}` : 'of another form'}.`;
  }
}

import { Ajv2020 } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';
import { ConfigError } from '../../lib/config.ts';
import { ADAPTERS } from './knownModels.ts';
import type { Template } from './template.ts';

/** A thousand dollars a run, or a second of one, is a slip of the pen. */
export const CENTS_MAX = 100_000;

const Table = Type.Unsafe<Template>(Type.Union([Type.Number({ minimum: 0, maximum: CENTS_MAX }), Type.Object({})]));

/** What the variable UPSTREAMS holds. */
const UpstreamsVariable = Type.Object(
  {
    upstreams: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[a-z0-9_-]+$' }),
        Type.Object(
          {
            adapter: Type.Optional(Type.Enum([...ADAPTERS])),
            base_url: Type.Optional(Type.String({ pattern: '^https?://\\S+$' })),
            key: Type.Optional(Type.String({ minLength: 1 })),
            concurrency: Type.Optional(Type.Integer({ minimum: 1 })),
            per_minute: Type.Optional(Type.Integer({ minimum: 1 })),
            local: Type.Optional(Type.Boolean()),
            form: Type.Optional(Type.Boolean()),
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
            cents: Type.Optional(Table),
            cents_per_second: Type.Optional(Table),
          },
          { additionalProperties: false },
        ),
      ),
    ),
  },
  { additionalProperties: false },
);
export type UpstreamsVariable = Static<typeof UpstreamsVariable>;

const ajv = new Ajv2020({ allErrors: true });
const validate = ajv.compile<UpstreamsVariable>(UpstreamsVariable);

/**
 * Reads the variable UPSTREAMS.
 * @throws ConfigError that says what of it is wrong, and repeats nothing that may be a key.
 */
export function parseVariable(text: string): UpstreamsVariable {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // The message of a parse error quotes what it could not read, and that may be a key.
    const place = / at position \d+.*/.exec((error as Error).message)?.[0] ?? '';
    throw new ConfigError(`UPSTREAMS is no valid JSON${place}.`);
  }
  if (validate(value)) return value;
  throw new ConfigError(`${ajv.errorsText(validate.errors, { dataVar: 'UPSTREAMS', separator: '; ' })}.`);
}

import Type, { type Static } from 'typebox';
import { parseConfigJson, validateConfig } from '../../lib/configJson.ts';
import { Protocol } from './described/protocol.ts';
import { ADAPTER_NAMES } from './modelPresets.ts';
import { ModelSettings } from './modelSettings.ts';

const Address = Type.String({ pattern: '^https?://\\S+$', description: 'an address such as http://host/v1' });
const Secret = Type.String({ pattern: '^[^$]', description: 'the key itself, or ${NAME} for a variable' });

/** Schema of the variable UPSTREAMS. */
const UpstreamsVariable = Type.Object(
  {
    upstreams: Type.Optional(
      Type.Record(
        Type.String(),
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
        {
          propertyNames: { type: 'string', pattern: '^[a-z0-9_-]+$', description: 'one or more of a-z, 0-9, _ and -' },
        },
      ),
    ),
    models: Type.Optional(Type.Record(Type.String(), ModelSettings)),
  },
  { additionalProperties: false },
);
export type UpstreamsVariable = Static<typeof UpstreamsVariable>;
/** An upstream of the variable. */
export type DeclaredUpstream = NonNullable<UpstreamsVariable['upstreams']>[string];

/**
 * Parses the variable UPSTREAMS.
 * @throws ConfigError that names the error, and repeats nothing that may be a key.
 */
export function parseUpstreamsVariable(text: string): UpstreamsVariable {
  const value = parseConfigJson('UPSTREAMS', text);
  // Nothing is configured: to compile the schema takes a tenth of the time of a start.
  return JSON.stringify(value) === '{}' ? {} : validateConfig('UPSTREAMS', value, UpstreamsVariable);
}

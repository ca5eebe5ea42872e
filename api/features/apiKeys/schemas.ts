import Type from 'typebox';
import { KeyOptionsResponse } from '../../../shared/presenters/apiKey.ts';
import { CreditLimit } from '../../../shared/presenters/spendingLimit.ts';
import { NO_OTHER_FIELDS, objectOrNull, textOrNull, Timestamp, Uuid } from '../../../shared/presenters/fields.ts';
import { API_KEY_NAME_MAX_CHARACTERS, API_KEY_OPTION_ITEMS_MAX } from '../../../shared/spec/limits.ts';
import { ALL_KEY_SCOPES, type KeyScope } from '../../../shared/spec/oauth.ts';
import { KEY_MODES } from '../../../shared/spec/testMode.ts';

export const CreatedApiKeyResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  key: Type.String({ pattern: '^svc_[0-9a-f]{40}$', description: 'The secret key, shown only once' }),
  prefix: Type.String(),
  created_at: Timestamp,
  mode: Type.Optional(Type.Enum(['test'], { description: 'test for a test key; absent for others' })),
  ...KeyOptionsResponse.properties,
});

export const RevokedResponse = Type.Object({ revoked: Type.Boolean({ const: true }) });

const KeyName = Type.String({
  trimmed: true,
  minLength: 1,
  maxLength: API_KEY_NAME_MAX_CHARACTERS,
  format: 'text',
});

/** Longest item of a list. `parseKeyOptions` checks the items further. */
const ITEM_MAX_CHARACTERS = 100;

const textListOrNull = (description: string) =>
  Type.Unsafe<string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string', minLength: 1, maxLength: ITEM_MAX_CHARACTERS },
    minItems: 1,
    maxItems: API_KEY_OPTION_ITEMS_MAX,
    description,
  });

const KEY_OPTIONS = {
  scopes: Type.Optional(
    Type.Unsafe<KeyScope[] | null>({
      type: ['array', 'null'],
      items: { type: 'string', enum: ALL_KEY_SCOPES },
      minItems: 1,
      maxItems: API_KEY_OPTION_ITEMS_MAX,
      description:
        'What the key may do; null for the whole account, or with another option for `svc:read` and `svc:write`',
    }),
  ),
  expires_at: Type.Optional(
    textOrNull({
      maxLength: ITEM_MAX_CHARACTERS,
      description: 'Future time from which the key is rejected, or a date, which is its start in UTC; null for never',
    }),
  ),
  credit_limit: Type.Optional(
    objectOrNull(
      CreditLimit,
      'Most credits that the key may spend in a UTC day, a UTC month or in total; null for no limit',
    ),
  ),
  allowed_models: Type.Optional(textListOrNull('Models that the key may use; null for all')),
  allowed_ips: Type.Optional(
    textListOrNull('Addresses, or ranges in CIDR notation, from which the key may be used; null for all'),
  ),
};

/** Names of the fields that restrict a key. */
export const KEY_OPTION_NAMES: readonly string[] = Object.keys(KEY_OPTIONS);

export const CreateApiKeyRequest = Type.Object(
  {
    name: KeyName,
    mode: Type.Optional(
      Type.Enum([...KEY_MODES], { description: 'test for a key that costs nothing: see Test mode. Default: live' }),
    ),
    ...KEY_OPTIONS,
  },
  NO_OTHER_FIELDS,
);

export const UpdateApiKeyRequest = Type.Object({ name: Type.Optional(KeyName), ...KEY_OPTIONS }, NO_OTHER_FIELDS);

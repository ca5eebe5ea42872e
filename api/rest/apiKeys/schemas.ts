import Type from 'typebox';
import { KEY_MODES } from '../../../shared/spec/testMode.ts';
import { API_KEY_NAME_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { NO_OTHER_FIELDS, Timestamp, Uuid } from '../../../shared/presenters/fields.ts';

export const CreatedApiKeyResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  key: Type.String({ pattern: '^svc_[0-9a-f]{40}$', description: 'The secret key, shown only once' }),
  prefix: Type.String(),
  created_at: Timestamp,
  mode: Type.Optional(Type.Enum(['test'], { description: 'test for a test key; absent for others' })),
});

export const RevokedResponse = Type.Object({ revoked: Type.Boolean({ const: true }) });

export const CreateApiKeyRequest = Type.Object(
  {
    name: Type.String({ trimmed: true, minLength: 1, maxLength: API_KEY_NAME_MAX_CHARACTERS, format: 'text' }),
    mode: Type.Optional(
      Type.Enum([...KEY_MODES], { description: 'test for a key that costs nothing: see Test mode. Default: live' }),
    ),
  },
  NO_OTHER_FIELDS,
);

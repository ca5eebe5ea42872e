import Type, { type Static } from 'typebox';
import type { ApiKey } from '../tables/ApiKey.ts';
import { Timestamp, timestampOrNull, Uuid } from './fields.ts';

export const ApiKeyResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: 'The first 12 characters of the key' }),
  last_used_at: timestampOrNull('Updated at most once in 60 seconds'),
  revoked: Type.Boolean(),
  created_at: Timestamp,
  mode: Type.Optional(Type.Enum(['test'], { description: 'test for a test key; absent for others' })),
});

export function presentApiKey(row: ApiKey): Static<typeof ApiKeyResponse> {
  return {
    uuid: row.uuid,
    name: row.name,
    prefix: row.prefix,
    last_used_at: row.last_used_at,
    revoked: row.revoked_at !== null,
    created_at: row.created_at,
    ...(row.test_account_id === null ? {} : { mode: 'test' as const }),
  };
}

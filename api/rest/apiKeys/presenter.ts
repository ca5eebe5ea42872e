import type { Static } from 'typebox';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { ApiKeyResponse, CreatedApiKeyResponse } from './schemas.ts';

export function presentApiKey(row: ApiKey): Static<typeof ApiKeyResponse> {
  return {
    uuid: row.uuid,
    name: row.name,
    prefix: row.prefix,
    last_used_at: row.last_used_at,
    revoked: row.revoked_at !== null,
    created_at: row.created_at,
  };
}

export function presentCreatedApiKey({ key, row }: { key: string; row: ApiKey }): Static<typeof CreatedApiKeyResponse> {
  return { uuid: row.uuid, name: row.name, key, prefix: row.prefix, created_at: row.created_at };
}

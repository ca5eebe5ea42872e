import type { Static } from 'typebox';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { CreatedApiKeyResponse } from './schemas.ts';

export function presentCreatedApiKey({ key, row }: { key: string; row: ApiKey }): Static<typeof CreatedApiKeyResponse> {
  return {
    uuid: row.uuid,
    name: row.name,
    key,
    prefix: row.prefix,
    created_at: row.created_at,
    ...(row.test_account_id === null ? {} : { mode: 'test' as const }),
  };
}

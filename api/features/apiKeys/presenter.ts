import type { Static } from 'typebox';
import { presentKeyOptions } from '../../../shared/presenters/apiKey.ts';
import type { SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { CreatedApiKeyResponse } from './schemas.ts';

/** A created key, with its spending limit if it has one. */
interface CreatedKey {
  key: string;
  row: ApiKey;
  limit?: SpendingLimitState | null;
}

export function presentCreatedApiKey({ key, row, limit }: CreatedKey): Static<typeof CreatedApiKeyResponse> {
  return {
    uuid: row.uuid,
    name: row.name,
    key,
    prefix: row.prefix,
    created_at: row.created_at,
    ...(row.test_account_id === null ? {} : { mode: 'test' as const }),
    ...presentKeyOptions(row, limit),
  };
}

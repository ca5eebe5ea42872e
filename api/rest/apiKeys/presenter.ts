import type { Static } from 'typebox';
import { presentKeyOptions } from '../../../shared/presenters/apiKey.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { CreatedApiKeyResponse } from './schemas.ts';

export function presentCreatedApiKey({ key, row }: { key: string; row: ApiKey }): Static<typeof CreatedApiKeyResponse> {
  const { uuid, name, prefix, created_at } = row;
  return { uuid, name, key, prefix, created_at, ...presentKeyOptions(row) };
}

import type { CreatedApiKey } from '../../../shared/domain/accounts/apiKeys.ts';
import { presentApiKey } from '../../../shared/presenters/apiKey.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';
import { CreatedApiKeyResponse } from './schemas.ts';

export const presentCreatedApiKey = ({ key, row, limit }: CreatedApiKey) =>
  presentAs(CreatedApiKeyResponse, presentApiKey(row, limit), { key });

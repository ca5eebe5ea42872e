import Type, { type Static } from 'typebox';
import { formatIpRange } from '../lib/ipRanges.ts';
import { ALL_KEY_SCOPES } from '../spec/oauth.ts';
import { CreditLimitUse, presentCreditLimit, type SpendingLimitState } from './spendingLimit.ts';
import type { ApiKey } from '../tables/ApiKey.ts';
import { presentAs, Timestamp, timestampOrNull, Uuid } from './fields.ts';

/** Options of a key in a response, which contains only those that are set. */
export const KeyOptionsResponse = Type.Object({
  scopes: Type.Optional(
    Type.Array(Type.Enum(ALL_KEY_SCOPES), {
      description: 'Without it: the whole account, or with another option `svc:read` and `svc:write`',
    }),
  ),
  expires_at: Type.Optional(Type.Unsafe<Date>({ ...Timestamp, description: 'Without it: never' })),
  credit_limit: Type.Optional(CreditLimitUse.properties.credit_limit),
  credits_used: Type.Optional(CreditLimitUse.properties.credits_used),
  resets_at: Type.Optional(CreditLimitUse.properties.resets_at),
  allowed_models: Type.Optional(Type.Array(Type.String(), { description: 'Models; without it: all' })),
  allowed_ips: Type.Optional(
    Type.Array(Type.String(), { description: 'Addresses and ranges in CIDR notation; without it: all' }),
  ),
});

export const ApiKeyResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: 'The first 12 characters of the key' }),
  last_used_at: timestampOrNull('Updated at most once in 60 seconds'),
  revoked: Type.Boolean(),
  created_at: Timestamp,
  mode: Type.Optional(Type.Enum(['test'], { description: 'test for a test key; absent for others' })),
  ...KeyOptionsResponse.properties,
});

/** @param limit spending limit of the key, if it has one. */
export function presentApiKey(row: ApiKey, limit: SpendingLimitState | null = null): Static<typeof ApiKeyResponse> {
  return presentAs(ApiKeyResponse, row, {
    revoked: row.revoked_at !== null,
    mode: row.test_account_id === null ? undefined : 'test',
    scopes: row.scopes ?? undefined,
    expires_at: row.expires_at ?? undefined,
    allowed_models: row.allowed_models ?? undefined,
    allowed_ips: row.allowed_ips?.map(formatIpRange),
    ...(limit === null ? {} : presentCreditLimit(limit)),
  });
}

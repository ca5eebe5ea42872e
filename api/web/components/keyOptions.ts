import type { SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import { ALL_SCOPES } from '../../../shared/spec/oauth.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import { formatCount } from './formatAmount.ts';
import { formatDateTime } from './formatTime.ts';
import { describeLimitUse } from './spendingLimit.tsx';

/** Describes the options of a key in short form, with what is used of its limit. */
export function describeKeyOptions(key: ApiKey, limit: SpendingLimitState | null): string {
  const { scopes, expires_at: expiresAt, allowed_models: models, allowed_ips: ips } = key;
  const hasOther = [expiresAt, limit, models, ips].some((option) => option !== null);
  const sentences = [
    expiresAt === null ? null : `Expires on ${formatDateTime(expiresAt)} UTC.`,
    limit === null ? null : `Spending limit: ${describeLimitUse(limit)}`,
    scopes === null && !hasOther ? null : `Scopes: ${(scopes ?? ALL_SCOPES).join(', ')}.`,
    models === null ? null : `${formatCount(models.length, 'allowed model')}.`,
    ips === null ? null : `${formatCount(ips.length, 'allowed address range')}.`,
  ].filter((sentence) => sentence !== null);
  if (sentences.length > 0) return sentences.join(' ');
  return key.test_account_id === null
    ? 'Never expires, and may use the whole account.'
    : 'Never expires, and creates test data only.';
}

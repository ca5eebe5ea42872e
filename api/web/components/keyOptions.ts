import type { SpendingLimitState } from '../../../shared/presenters/spendingLimit.ts';
import { ALL_SCOPES } from '../../../shared/spec/oauth.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import { KEY_OPTIONS as t } from '../spendingTexts.ts';
import { formatDateTime } from './formatTime.ts';
import { describeLimitUse } from './spendingLimit.tsx';

/** Describes the options of a key in short form, with what is used of its limit. */
export function describeKeyOptions(key: ApiKey, limit: SpendingLimitState | null): string {
  const { scopes, expires_at: expiresAt, allowed_models: models, allowed_ips: ips } = key;
  const hasOther = [expiresAt, limit, models, ips].some((option) => option !== null);
  const sentences = [
    expiresAt === null ? null : t.expires({ time: formatDateTime(expiresAt) }),
    limit === null ? null : t.limit({ use: describeLimitUse(limit) }),
    scopes === null && !hasOther ? null : t.scopes({ scopes: (scopes ?? ALL_SCOPES).join(', ') }),
    models === null ? null : t.models({ count: models.length }),
    ips === null ? null : t.ranges({ count: ips.length }),
  ].filter((sentence) => sentence !== null);
  if (sentences.length > 0) return sentences.join(' ');
  return key.test_account_id === null ? t.unlimited() : t.test();
}

import type { FormDraft } from '../../pipeline/cookies/draftCookie.ts';
import type { AffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import type { ConnectedApplication } from '../../../shared/domain/oauth/grants.ts';
import type { ActiveWebSession } from '../../../shared/domain/accounts/sessions.ts';
import type { BillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { Identity } from '../../../shared/tables/Identity.ts';

/** All that the account's page shows. */
export interface AccountOverview {
  account: Account;
  /** Whether this session has staff rights. */
  isStaff: boolean;
  billing: BillingStatus;
  identities: Identity[];
  keys: ApiKey[];
  applications: ConnectedApplication[];
  sessions: ActiveWebSession[];
  /** null before the account has enrolled. */
  affiliate: (AffiliateOverview & { clicks: number }) | null;
}

/** What every part of the page needs for its forms. */
export interface AccountFormContext {
  /** `formToken(ctx)`. */
  csrfToken: string;
  /** Names what the forms of this very page ask for, so that one that is sent twice does nothing twice. */
  idempotencyKey: string;
  /** What was typed before the session ended. */
  draft: FormDraft;
}

import type { FormDraft } from '../../pipeline/cookies/draftCookie.ts';
import type { AffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import type { ConnectedApplication } from '../../../shared/domain/oauth/grants.ts';
import type { ActiveWebSession } from '../../../shared/domain/accounts/sessions.ts';
import type { UsageSummary } from '../../../shared/domain/credits/usage.ts';
import type { BillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import type { Identity } from '../../../shared/tables/Identity.ts';

/** Data of the account page. */
export interface AccountOverview {
  account: Account;
  usage: UsageSummary;
  /** True if this session has staff rights. */
  isStaff: boolean;
  billing: BillingStatus;
  identities: Identity[];
  keys: ApiKey[];
  applications: ConnectedApplication[];
  sessions: ActiveWebSession[];
  /** null before the account has enrolled. */
  affiliate: (AffiliateOverview & { clicks: number }) | null;
}

/** Values that the forms of the page share. */
export interface AccountFormContext {
  /** From `createCsrfToken(ctx)`. */
  csrfToken: string;
  /** Idempotency key of this page view: a form that is sent twice takes effect once. */
  idempotencyKey: string;
  /** Input that was submitted after the session had ended. */
  draft: FormDraft;
}

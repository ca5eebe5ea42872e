import type { VNode } from 'preact';
import { formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatShortDateTime, formatRelativeTime } from '../../../../web/components/formatTime.ts';
import { describeKeyOptions } from '../../../../web/components/keyOptions.ts';
import { describeLimitUse } from '../../../../web/components/spendingLimit.tsx';
import { mayUse } from '../../../../web/components/areaPage.tsx';
import type { SpendingLimitState } from '../../../../../shared/presenters/spendingLimit.ts';
import { describeBrowser } from '../../../../../shared/lib/browserName.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Facts, Section } from '../sections.tsx';
import type { SectionProps } from './profile.tsx';

const formatUse = (usedAt: Date | null) => (usedAt === null ? 'never' : formatRelativeTime(usedAt));

const describeLimit = (limit: SpendingLimitState | null) => (limit === null ? 'none' : describeLimitUse(limit));

/** API keys, sessions, applications and sign-in methods, and the affiliate state. */
export function AccessSections({ overview, ctx }: SectionProps): VNode {
  const { keys, keyLimits, sessions, applications, applicationLimits, identities } = overview;
  const mayRevoke = mayUse(ctx, 'revokeAccess');
  return (
    <>
      <Section id="keys" title="API keys">
        <Table
          label="API keys"
          columns={['Prefix', 'Name', 'Options', 'Created', 'Last used', 'Action']}
          empty="No active API keys."
          rows={keys.map((key) => [
            <code>{key.prefix}…</code>,
            key.test_account_id === null ? key.name : `${key.name} (test)`,
            describeKeyOptions(key, keyLimits.get(key.uuid) ?? null),
            formatShortDateTime(key.created_at),
            formatUse(key.last_used_at),
            mayRevoke ? (
              <a
                class="button slight"
                href={`/admin/keys/${key.uuid}/revoke/`}
                aria-label={`Revoke API key ${key.name}, ${key.prefix}`}
              >
                Revoke
              </a>
            ) : (
              ''
            ),
          ])}
        />
      </Section>
      <Section id="sessions" title="Sessions">
        <Table
          label="Sessions"
          columns={['Browser', 'Signed in', 'Last used']}
          empty="No active sessions."
          rows={sessions.map((session) => [
            describeBrowser(session.userAgent),
            formatShortDateTime(session.createdAt),
            formatRelativeTime(session.lastUsedAt),
          ])}
        />
      </Section>
      <Section id="applications" title="Applications">
        <Table
          label="Applications"
          columns={['Application', 'Hosts', 'Scopes', 'Spending limit', 'Connected', 'Last used']}
          empty="No connected applications."
          rows={applications.map((application) => [
            application.clientName,
            application.clientHosts.join(', '),
            application.scopes.join(', '),
            describeLimit(applicationLimits.get(application.clientId) ?? null),
            formatShortDateTime(application.connectedAt),
            formatUse(application.lastUsedAt),
          ])}
        />
      </Section>
      <Section id="identities" title="Sign-in methods">
        <Table
          label="Sign-in methods"
          columns={['Provider', 'Address', 'Linked']}
          empty="No sign-in methods."
          rows={identities.map((identity) => [
            identity.provider,
            identity.email,
            formatShortDateTime(identity.created_at),
          ])}
        />
      </Section>
      <AffiliateSection overview={overview} ctx={ctx} />
    </>
  );
}

function AffiliateSection({ overview: { affiliate: overview } }: SectionProps): VNode {
  return (
    <Section id="affiliate" title="Affiliate">
      {overview === null ? (
        <p class="quiet">Not an affiliate.</p>
      ) : (
        <Facts
          facts={[
            ['Code', overview.affiliate.code],
            ['Referrals', `${overview.stats.referrals}, of which ${overview.stats.active} with a subscription`],
            ['Earned', formatUsd(overview.stats.lifetimeEarningsCents)],
            ['Pending', formatUsd(overview.stats.pendingCents)],
            ['Paid out', formatUsd(overview.stats.paidCents)],
            ['Payouts', overview.isPayoutEnabled ? 'enabled' : 'not enabled'],
            ['Connected account', overview.affiliate.connect_account_id ?? 'none'],
          ]}
        />
      )}
    </Section>
  );
}

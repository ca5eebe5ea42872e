import type { VNode } from 'preact';
import { formatUsd } from '../../../../web/components/formatAmount.ts';
import { formatRelativeTime } from '../../../../web/components/formatTime.ts';
import { describeKeyOptions } from '../../../../web/components/keyOptions.ts';
import { describeLimitUse } from '../../../../web/components/spendingLimit.tsx';
import { mayUse } from '../../../../web/components/areaPage.tsx';
import type { SpendingLimitState } from '../../../../../shared/presenters/spendingLimit.ts';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { Facts, Section } from '../../../../web/components/section.tsx';
import { Parts } from '../sections.tsx';
import { Actions, type SectionProps } from './profile.tsx';

const formatUse = (usedAt: Date | null) => (usedAt === null ? 'never' : formatRelativeTime(usedAt));

const describeLimit = (limit: SpendingLimitState | null) => (limit === null ? 'none' : describeLimitUse(limit));

/** API keys, sessions, applications and sign-in methods. */
export function AccessSection({ overview, ctx }: SectionProps): VNode {
  const { account, keys, keyLimits, sessions, applications, applicationLimits, identities, members } = overview;
  const mayRevoke = mayUse(ctx, 'revokeAccess');
  const actions =
    account.erased_at === null ? (
      <Actions
        ctx={ctx}
        path={getAccountPath(account)}
        actions={[
          ['sign-out/', 'Sign out everywhere', 'revokeAccess'],
          ['revoke-access/', 'Revoke all access', 'revokeAccess'],
        ]}
      />
    ) : null;
  const keyTable = (
    <Table
      label="API keys"
      columns={['Prefix', 'Name', 'Options', 'Created', 'Last used', 'Action']}
      rows={keys.map((key) => [
        <code>{key.prefix}…</code>,
        key.test_account_id === null ? key.name : `${key.name} (test)`,
        describeKeyOptions(key, keyLimits.get(key.uuid) ?? null),
        <Time at={key.created_at} />,
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
  );
  const sessionTable = (
    <Table
      label="Sessions"
      columns={['Browser', 'Signed in', 'Last used']}
      rows={sessions.map((session) => [
        describeBrowser(session.userAgent),
        <Time at={session.createdAt} />,
        formatRelativeTime(session.lastUsedAt),
      ])}
    />
  );
  const applicationTable = (
    <Table
      label="Applications"
      columns={['Application', 'Hosts', 'Scopes', 'Spending limit', 'Connected', 'Last used']}
      rows={applications.map((application) => [
        application.clientName,
        application.clientHosts.join(', '),
        application.scopes.join(', '),
        describeLimit(applicationLimits.get(application.clientId) ?? null),
        <Time at={application.connectedAt} />,
        formatUse(application.lastUsedAt),
      ])}
    />
  );
  const memberTable = (
    <Table
      label="Members"
      columns={['Member', 'Role', 'Keys', 'Applications', 'Since', 'Until', 'Action']}
      rows={members.map((member) => [
        member.email,
        member.role,
        member.api_keys,
        member.applications,
        <Time at={member.created_at} />,
        member.removed_at === null ? '' : <Time at={member.removed_at} />,
        mayRevoke && member.role !== 'owner' && member.removed_at === null ? (
          <a class="button slight" href={`/admin/members/${member.uuid}/remove/`} aria-label={`Remove ${member.email}`}>
            Remove
          </a>
        ) : (
          ''
        ),
      ])}
    />
  );
  const identityTable = (
    <Table
      label="Sign-in methods"
      columns={['Provider', 'Address', 'Linked']}
      rows={identities.map((identity) => [identity.provider, identity.email, <Time at={identity.created_at} />])}
    />
  );
  return (
    <Section id="access" title="Access" actions={actions}>
      <Parts
        parts={[
          { id: 'keys', title: 'API keys', isEmpty: keys.length === 0, content: keyTable },
          { id: 'sessions', title: 'Sessions', isEmpty: sessions.length === 0, content: sessionTable },
          { id: 'applications', title: 'Applications', isEmpty: applications.length === 0, content: applicationTable },
          { id: 'members', title: 'Members', isEmpty: members.length < 2, content: memberTable },
          { id: 'identities', title: 'Sign-in methods', isEmpty: identities.length === 0, content: identityTable },
        ]}
      />
    </Section>
  );
}

/** Earnings of an affiliate. Nothing for other accounts. */
export function AffiliateSection({ overview: { affiliate: overview } }: SectionProps): VNode | null {
  if (overview === null) return null;
  return (
    <Section id="affiliate" title="Affiliate">
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
    </Section>
  );
}

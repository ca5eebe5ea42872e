import type { VNode } from 'preact';
import type { ListedApproval } from '../../../../shared/domain/staff/approvals.ts';
import { type Context, requireCaller } from '../../../context.ts';
import { formatChange } from '../../../web/components/formatAmount.ts';
import { mayUse } from '../../../web/components/areaPage.tsx';
import { Table } from '../../../web/components/table.tsx';
import { Time } from '../../../web/components/time.tsx';
import { getAccountPath } from './actions/accountActions.tsx';

/** Adjustments that wait for a second member, with links for those who may decide. */
export function ApprovalTable({ approvals, ctx }: { approvals: ListedApproval[]; ctx: Context }): VNode {
  const { accountId: viewer } = requireCaller(ctx);
  const mayDecide = ({ approval }: ListedApproval) =>
    mayUse(ctx, 'adjustCredits') && approval.requested_by !== viewer && approval.account_id !== viewer;
  return (
    <Table
      label="Adjustments to approve"
      columns={['Account', 'Credits', 'Reason', 'Requested by', 'Requested (UTC)', 'Action']}
      numeric={['Credits']}
      rows={approvals.map((listed) => {
        const { approval, account, requester } = listed;
        return [
          <a href={getAccountPath(account)}>{account.email}</a>,
          formatChange(approval.credits),
          approval.reason,
          requester.email,
          <Time at={approval.requested_at} />,
          mayDecide(listed) ? (
            <div class="buttons">
              {(['Approve', 'Reject'] as const).map((label) => (
                <a
                  class="button slight"
                  href={`/admin/approvals/${approval.uuid}/${label.toLowerCase()}/`}
                  aria-label={`${label} ${formatChange(approval.credits)} credits for ${account.email}`}
                >
                  {label}
                </a>
              ))}
            </div>
          ) : (
            'Another member decides'
          ),
        ];
      })}
    />
  );
}

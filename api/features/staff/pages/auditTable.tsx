import type { VNode } from 'preact';
import type { AuditLogItem } from '../../../../shared/domain/audit/auditLog.ts';
import { getAccountPath } from './actions/accountActions.tsx';
import { Table } from '../../../web/components/table.tsx';
import { Time } from '../../../web/components/time.tsx';

/** Audit entries, newest first. */
export function AuditTable({ items }: { items: AuditLogItem[] }): VNode {
  return (
    <Table
      label="Audit entries"
      columns={['Time (UTC)', 'Actor', 'Action', 'Target', 'Reason', 'Change']}
      empty="No entries."
      rows={items.map(({ entry, actor, account }) => [
        <>
          <Time at={entry.created_at} />
          <div class="quiet small">{entry.request_id}</div>
        </>,
        <>
          {actor}
          <div class="quiet small">{[entry.role, entry.ip_address].filter((part) => part !== null).join(', ')}</div>
        </>,
        entry.action,
        <>
          {account === undefined ? null : <a href={getAccountPath(account)}>{account.email}</a>}
          <div class="quiet small">
            {entry.target_type} {entry.target_id}
          </div>
        </>,
        entry.reason,
        formatChanges(entry).map((change) => <div class="small">{change}</div>),
      ])}
    />
  );
}

/** Formats the values of an entry, each with the one before it: `balance: 100 → 150`. */
function formatChanges({ before, after }: AuditLogItem['entry']): string[] {
  const names = [...new Set(Object.keys({ ...before, ...after }))];
  return names.map((name) => {
    const values = [before, after].filter((side) => side !== null && name in side).map((side) => String(side?.[name]));
    return `${name}: ${values.join(' → ')}`;
  });
}

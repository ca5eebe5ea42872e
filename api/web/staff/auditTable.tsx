import type { VNode } from 'preact';
import type { AuditLogItem } from '../../../shared/domain/staff/auditLog.ts';
import { formatDateTime } from '../components/formatTime.ts';
import { getAccountPath } from './actions/accountActions.tsx';
import { Table } from './table.tsx';

/** Audit entries, newest first. */
export function AuditTable({ items }: { items: AuditLogItem[] }): VNode {
  return (
    <Table
      label="Audit entries"
      headings={['Time (UTC)', 'Actor', 'Action', 'Account', 'Target', 'Reason', 'Before', 'After', 'Request']}
      empty="No entries."
      rows={items.map(({ entry, actor, account }) => [
        formatDateTime(entry.created_at),
        <>
          {actor}
          <div class="quiet small">{[entry.role, entry.ip_address].filter((part) => part !== null).join(', ')}</div>
        </>,
        entry.action,
        account === undefined ? '' : <a href={getAccountPath(account)}>{account.email}</a>,
        `${entry.target_type} ${entry.target_id}`,
        entry.reason,
        formatValues(entry.before),
        formatValues(entry.after),
        entry.request_id ?? '',
      ])}
    />
  );
}

function formatValues(values: Record<string, unknown> | null): string {
  return Object.entries(values ?? {})
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');
}

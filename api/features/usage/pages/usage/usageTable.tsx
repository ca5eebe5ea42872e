import type { VNode } from 'preact';
import type { KeyUsageOverview, UsageSum } from '../../../../../shared/domain/usage/usageByKey.ts';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { Table } from '../../../../web/components/table.tsx';
import { t as shared } from '../../../../web/texts.ts';
import { t } from '../texts.ts';

/** Row of a usage table: what the usage belongs to, and its sums. */
interface UsageRow extends UsageSum {
  label: VNode | string;
}

/** Generations and credits by model, key or anything else. */
export function UsageTable({ title, rows }: { title: string; rows: readonly UsageRow[] }): VNode {
  const numeric = [t.generations(), shared.credits()];
  return (
    <Table
      label={title}
      columns={[title, ...numeric]}
      numeric={numeric}
      hasRowHeadings
      empty={t.noGenerations()}
      rows={rows.map(({ label, generations, credits }) => [label, formatNumber(generations), formatNumber(credits)])}
    />
  );
}

/** Lists the usage of each key, of the remaining keys together, and of what no key created. */
export function listKeyRows({ keys, otherKeys, withoutKey }: KeyUsageOverview): UsageRow[] {
  const rest: UsageRow[] = [
    { label: t.otherKeys(), ...otherKeys },
    { label: t.noKey(), ...withoutKey },
  ];
  return [
    ...keys.map(({ name, prefix, revoked_at: revokedAt, generations, credits }) => ({
      label: (
        <>
          {name} <code>{prefix}…</code> {revokedAt === null ? null : <span class="tag off">{t.revoked()}</span>}
        </>
      ),
      generations,
      credits,
    })),
    ...rest.filter(({ generations }) => generations > 0),
  ];
}

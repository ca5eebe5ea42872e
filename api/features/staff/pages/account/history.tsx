import type { VNode } from 'preact';
import { isCanceledByOwner } from '../../../../../shared/domain/generations/failureReasons.ts';
import type { StaffGeneration } from '../../../../../shared/domain/staff/generations.ts';
import type { ListedEntry } from '../../../../../shared/domain/credits/listFilteredLedger.ts';
import { formatChange, formatNumber } from '../../../../web/components/formatAmount.ts';
import { getGenerationPath } from '../actions/generationActions.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';

/** Ledger entries with the buckets that they changed. */
export function LedgerTable({ entries }: { entries: readonly ListedEntry[] }): VNode {
  return (
    <Table
      label="Ledger entries"
      columns={['Number', 'Time (UTC)', 'Type', 'Credits', 'Of which plan', 'Balance', 'Description']}
      numeric={['Number', 'Credits', 'Of which plan', 'Balance']}
      empty="No entries."
      rows={entries.map((entry) => [
        entry.number,
        <Time at={entry.created_at} />,
        entry.entry_type,
        formatChange(entry.amount),
        formatChange(entry.plan_amount),
        formatNumber(entry.balance_after),
        entry.generation_uuid === null ? (
          entry.description
        ) : (
          <a href={getGenerationPath({ uuid: entry.generation_uuid })}>{entry.description}</a>
        ),
      ])}
    />
  );
}

/** Generations without their prompts and outputs. */
export function GenerationTable({ generations }: { generations: StaffGeneration[] }): VNode {
  return (
    <Table
      label="Generations"
      columns={['Generation', 'Status', 'Model', 'Credits', 'Upstream', 'Created (UTC)', 'Ended (UTC)', 'Error']}
      numeric={['Credits']}
      empty="No generations."
      rows={generations.map((generation) => [
        <a href={getGenerationPath(generation)}>{generation.uuid}</a>,
        describeStatus(generation),
        generation.model,
        formatNumber(generation.credits_charged),
        generation.upstream ?? 'none',
        <Time at={generation.created_at} />,
        generation.completed_at === null ? '' : <Time at={generation.completed_at} />,
        generation.error_reason ?? '',
      ])}
    />
  );
}

/** Describes the status of a generation, and whether it was refunded. */
export function describeStatus(generation: StaffGeneration): string {
  const { status, refunded_at: refundedAt } = generation;
  if (isCanceledByOwner(generation.error_reason)) return 'canceled, refunded';
  if (status === 'failed') return 'failed, refunded';
  return refundedAt === null ? status : `${status}, refunded by staff`;
}

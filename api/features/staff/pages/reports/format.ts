import { ageSeconds, type Amount, type Unit } from '../../../../../shared/domain/reports/report.ts';
import { formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';

/** Formats a figure with its unit; a dash if it is unknown. */
export function formatFigure(value: number | null, unit: Unit): string {
  if (value === null) return '–';
  switch (unit) {
    case 'count':
      return formatNumber(value);
    case 'cents':
      return formatUsd(value);
    case 'percent':
      return `${formatNumber(value)} %`;
    case 'seconds':
      return formatSeconds(value);
  }
}

/** Formats the time since a moment; empty if there is none. */
export function formatAge(since: Date | null): string {
  return since === null ? '' : formatFigure(ageSeconds(since), 'seconds');
}

/**
 * Describes the change since the previous period: ↑ 25 %. Shares change by percentage points. Empty without a change.
 */
export function describeChange({ value, previous }: Amount, unit: Unit): string {
  if (value === null || previous === null || value === previous) return '';
  const arrow = value > previous ? '↑' : '↓';
  const difference = Math.abs(value - previous);
  if (unit === 'percent') return `${arrow} ${formatTenths(difference)} points`;
  return previous === 0 ? `${arrow} from 0` : `${arrow} ${formatTenths((100 * difference) / Math.abs(previous))} %`;
}

function formatTenths(value: number): string {
  return formatNumber(Math.round(value * 10) / 10);
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Short times exactly, ages in the largest fitting unit. */
function formatSeconds(seconds: number): string {
  if (seconds < 10 * MINUTE) return `${formatNumber(seconds)} s`;
  if (seconds < 2 * HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < 48 * HOUR ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / (24 * HOUR))} days`;
}

import type { ReportTable } from '../../../../../shared/domain/reports/report.ts';
import { toCsvLine } from '../../../../../shared/lib/csv.ts';

/**
 * Writes a table of a report as CSV: texts, each measure with the previous period and the change, then details. The
 * last row is the total, if there is one.
 */
export function writeReportCsv({ dimensions, measures, details = [], rows, total }: ReportTable): string {
  const header = [
    ...dimensions.map(({ key }) => key),
    ...measures.flatMap(({ key, isCompared }) =>
      isCompared === false ? [key] : [key, `${key}_previous`, `${key}_change`],
    ),
    ...details.map(({ key }) => key),
  ];
  const lines = [...rows, ...(total === undefined ? [] : [total])].map((row) =>
    toCsvLine([
      ...row.labels,
      ...measures.flatMap(({ isCompared }, index) => {
        const { value = null, previous = null } = row.amounts[index] ?? {};
        return isCompared === false ? [toCell(value)] : [value, previous, subtract(value, previous)].map(toCell);
      }),
      ...details.map((_, index) => row.details?.[index] ?? ''),
    ]),
  );
  return [toCsvLine(header), ...lines].join('');
}

function toCell(value: number | null): string | number {
  return value ?? '';
}

/** Rounded, because the difference of two decimals has more digits than either. */
function subtract(value: number | null, previous: number | null): number | null {
  return value === null || previous === null ? null : Math.round(10 * (value - previous)) / 10;
}

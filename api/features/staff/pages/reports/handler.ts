import { parseReportRange } from '../../../../../shared/domain/reports/range.ts';
import type { ReportDefinition, ReportTable } from '../../../../../shared/domain/reports/report.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import type { Context } from '../../../../context.ts';
import { getBrand } from '../../../../web/brand.ts';
import { writeReportCsv } from './csv.ts';
import { sendReportPage } from './view.tsx';

/** Shows a report as a page, or one of its tables as a CSV file. Invalid dates are shown with the form. */
export async function showReport(ctx: Context, report: ReportDefinition): Promise<void> {
  const [from, to] = [parseDate(ctx, 'from'), parseDate(ctx, 'to')];
  try {
    const isCsv = parseFormat(ctx);
    const range = parseReportRange(report.defaultRange, from, to);
    const tables = await report.build(range);
    if (isCsv) sendCsv(ctx, report, findTable(tables, readText(ctx, 'table')));
    else await sendReportPage(ctx, { report, range, tables, from, to });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'validation_error') throw error;
    await sendReportPage(ctx, { report, problem: error.message, from, to }, 400);
  }
}

/** A form sends a field that was left empty; it counts as missing. */
function parseDate(ctx: Context, name: 'from' | 'to'): string | undefined {
  const text = readText(ctx, name);
  return text === '' ? undefined : text;
}

/** @returns true for a CSV file. @throws ServiceError validation_error */
function parseFormat(ctx: Context): boolean {
  const format = readText(ctx, 'format');
  if (format === undefined || format === 'html') return false;
  if (format === 'csv') return true;
  throw new ServiceError('validation_error', 'format must be csv, or be left out for a page.', { field: 'format' });
}

/** @throws ServiceError validation_error */
function findTable(tables: readonly ReportTable[], key: string | undefined): ReportTable {
  const table = key === undefined ? tables[0] : tables.find((one) => one.key === key);
  if (table !== undefined) return table;
  throw new ServiceError('validation_error', `table must be one of ${tables.map((one) => one.key).join(', ')}.`, {
    field: 'table',
  });
}

function sendCsv(ctx: Context, { slug }: ReportDefinition, table: ReportTable): void {
  ctx.type = 'text/csv; charset=utf-8';
  ctx.set('content-disposition', `attachment; filename="${getBrand().slug}-${slug}-${table.key}.csv"`);
  ctx.set('cache-control', 'no-store');
  ctx.body = writeReportCsv(table);
}

/** Reads a parameter; of one that is repeated, the first. */
function readText(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name];
  return Array.isArray(value) ? value[0] : value;
}

import { type Span, SpanKind, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';
import { markFailed, startSpan } from '../tracing.ts';

/** A query as knex reports it. */
interface Query {
  __knexQueryUid: string;
  sql: string;
  options?: { name?: string };
}

/**
 * Records the queries of a pool that belong to a request or a job. A statement that serves several callers at once
 * belongs to the one that started it.
 */
export function traceQueries(pool: Knex): void {
  const spans = new Map<string, Span>();
  const end = ({ __knexQueryUid: id }: Query, error?: unknown) => {
    const span = spans.get(id);
    if (span === undefined) return;
    spans.delete(id);
    if (error !== undefined) markFailed(span, error);
    span.end();
  };
  pool.on('query', (query: Query) => {
    if (trace.getActiveSpan() === undefined) return;
    // The name of a prepared statement, else its verb. The text is several KB.
    const name = query.options?.name ?? /^\s*(\w+)/.exec(query.sql)?.[1]?.toUpperCase() ?? 'query';
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
    spans.set(query.__knexQueryUid, startSpan({ name, kind: SpanKind.CLIENT, attributes }));
  });
  pool.on('query-response', (_response: unknown, query: Query) => end(query));
  pool.on('query-error', (error: unknown, query: Query) => end(query, error));
}

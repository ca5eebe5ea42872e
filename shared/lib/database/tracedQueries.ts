import { type Span, SpanKind, trace } from '@opentelemetry/api';
import type { Knex } from 'knex';
import { isTracing, markFailed, startSpan } from '../tracing.ts';

/** A query as knex reports it. */
interface Query {
  __knexQueryUid: string;
  sql: string;
}

/**
 * Records the queries of a pool that belong to a request or a job. Prepared statements, which do not pass through knex,
 * use {@link traceStatement}.
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
    // The verb only: the text may be several KB.
    const span = startQuerySpan(/^\s*(\w+)/.exec(query.sql)?.[1]?.toUpperCase() ?? 'query');
    if (span !== undefined) spans.set(query.__knexQueryUid, span);
  });
  pool.on('query-response', (_response: unknown, query: Query) => end(query));
  pool.on('query-error', (error: unknown, query: Query) => end(query, error));
}

/**
 * Sends a prepared statement, and records it if it belongs to a request or a job. A statement that serves several
 * callers at once belongs to the one that started it.
 */
export async function traceStatement<Result>(name: string, send: () => Promise<Result>): Promise<Result> {
  const span = isTracing() ? startQuerySpan(name) : undefined;
  if (span === undefined) return send();
  try {
    return await send();
  } catch (error) {
    markFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Starts a span below the active one. Returns undefined if none is active. */
function startQuerySpan(name: string): Span | undefined {
  if (trace.getActiveSpan() === undefined) return undefined;
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
  return startSpan({ name, kind: SpanKind.CLIENT, attributes });
}

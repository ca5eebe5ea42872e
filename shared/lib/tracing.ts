import {
  type Attributes,
  context,
  type Context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { createLruCache, type LRUCache } from './lruCache.ts';
import { perService } from './serviceScope.ts';

/**
 * Spans of this process for OpenTelemetry. Without OTEL_EXPORTER_OTLP_ENDPOINT nothing is recorded, and each function
 * here returns at once; `tracingSdk.ts` loads the SDK otherwise.
 */
const state = perService(() => ({
  /** Context of the request that created each generation, for the jobs that work on it. Undefined while not tracing. */
  traceparents: undefined as LRUCache<string, string> | undefined,
}));

/** Far more generations than one process works on at a time. */
const MAX_ENTRIES = 20_000;

export function isTracing(): boolean {
  return state().traceparents !== undefined;
}

/** Called when the SDK was registered. */
export function enableTracing(): void {
  state().traceparents = createLruCache(MAX_ENTRIES);
}

export interface SpanDetails {
  name: string;
  kind: SpanKind;
  attributes?: Attributes;
  /** Default: the active span. */
  parent?: Context;
  /** W3C trace contexts of other causes. */
  links?: string[];
}

/** Starts a span, which the caller ends. */
export function startSpan({ name, kind, attributes, parent = context.active(), links = [] }: SpanDetails): Span {
  const causes = links.map((link) => trace.getSpanContext(parseTraceparent(link)));
  const known = causes.flatMap((cause) => (cause === undefined ? [] : [{ context: cause }]));
  return trace.getTracer('genmeter').startSpan(name, { kind, attributes, links: known }, parent);
}

/** Runs work inside a span, which ends with it. A failure marks the span and is thrown again. */
export async function withSpan<Result>(details: SpanDetails, work: (span: Span | undefined) => Promise<Result>) {
  if (!isTracing()) return work(undefined);
  const span = startSpan(details);
  try {
    return await context.with(trace.setSpan(details.parent ?? context.active(), span), () => work(span));
  } catch (error) {
    markFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/**
 * Marks a span as failed. The message of an error may quote customers' data, so only its name and code are recorded.
 */
export function markFailed(span: Span, error: unknown): void {
  const { name, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { name: 'Error', code: '' };
  span.setAttribute('error.type', typeof code === 'string' && code !== '' ? code : name);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Converts the value of a `traceparent` header. An invalid one has no effect. */
export function parseTraceparent(traceparent: string | undefined): Context {
  return traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
}

/** Stores the active span as the cause of all further work on a generation. */
export function rememberTrace(generationId: string): void {
  const { traceparents } = state();
  if (traceparents === undefined) return;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  if (carrier.traceparent !== undefined) traceparents.set(generationId, carrier.traceparent);
}

/** Returns the trace context of a generation, if known. */
export function getTraceparent(generationId: string): string | undefined {
  return state().traceparents?.get(generationId);
}

interface TracedJob {
  name: string;
  queue: string;
  generations: readonly { uuid: string; traceparent?: string }[];
}

/** Runs a job in a span: in the trace of its request if there is one, with links if it serves several requests. */
export async function withJobSpan<Result>(job: TracedJob, work: () => Promise<Result>): Promise<Result> {
  if (!isTracing()) return work();
  const { name, queue, generations } = job;
  for (const { uuid, traceparent } of generations)
    if (traceparent !== undefined) state().traceparents?.set(uuid, traceparent);
  const causes = [...new Set(generations.flatMap(({ traceparent }) => traceparent ?? []))];
  const parent = causes.length === 1 ? parseTraceparent(causes[0]) : ROOT_CONTEXT;
  const attributes = { 'messaging.system': 'bullmq', 'messaging.destination.name': queue };
  const links = causes.length > 1 ? causes : [];
  return withSpan({ name: `process ${name}`, kind: SpanKind.CONSUMER, attributes, parent, links }, work);
}

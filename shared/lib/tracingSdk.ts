import { tracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel';
import { context, propagation, type Span, SpanKind, trace } from '@opentelemetry/api';
import { VERSION } from '../spec/version.ts';
import { config } from './config.ts';
import { logger } from './logger.ts';
import { perService } from './serviceScope.ts';
import { enableTracing, markFailed, startSpan } from './tracing.ts';

/** Time that the collector has for the last spans when a process stops. */
const FLUSH_TIMEOUT_MS = 2_000;

const shutDown = perService(() => ({ run: async () => {} }));

/**
 * Sends spans to OTEL_EXPORTER_OTLP_ENDPOINT by OTLP over HTTP with JSON. Loads the SDK only then. The SDK itself reads
 * its other standard variables, such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER.
 */
export async function openTracing(): Promise<void> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return;
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, resources] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const url = `${config.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/+$/, '')}/v1/traces`;
  const provider = new NodeTracerProvider({
    resource: resources
      .detectResources({ detectors: [resources.envDetector] })
      .merge(
        resources.resourceFromAttributes({ 'service.name': config.OTEL_SERVICE_NAME, 'service.version': VERSION }),
      ),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  });
  provider.register();
  const stopRedisSpans = traceRedisCommands();
  enableTracing();
  logger.info({ endpoint: url }, 'tracing enabled');
  shutDown().run = async () => {
    stopRedisSpans();
    const timeout = new Promise((resolve) => setTimeout(resolve, FLUSH_TIMEOUT_MS).unref());
    await Promise.race([provider.shutdown().catch(() => {}), timeout]);
    trace.disable();
    context.disable();
    propagation.disable();
  };
}

/** Sends what is recorded, and stops recording. */
export function closeTracing(): Promise<void> {
  return shutDown().run();
}

interface RedisCommand {
  command: string;
  span?: Span;
}

/** Records Redis commands that belong to a request or a job. Those of idle workers would be most of all spans. */
function traceRedisCommands(): () => void {
  const subscribers: Partial<TracingChannelSubscribers<RedisCommand>> = {
    start: (message) => {
      if (trace.getActiveSpan() === undefined) return;
      const attributes = { 'db.system.name': 'redis', 'db.operation.name': message.command };
      message.span = startSpan({ name: message.command, kind: SpanKind.CLIENT, attributes });
    },
    error: ({ span, error }) => span !== undefined && markFailed(span, error),
    asyncEnd: ({ span }) => span?.end(),
  };
  const channel = tracingChannel<RedisCommand>('ioredis:command');
  channel.subscribe(subscribers as TracingChannelSubscribers<RedisCommand>);
  return () => channel.unsubscribe(subscribers as TracingChannelSubscribers<RedisCommand>);
}

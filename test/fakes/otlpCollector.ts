import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpFake } from './httpFake.ts';
import { readTextBody, sendJson } from './misbehave.ts';

/** A received span, with its attributes as an object. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  attributes: Record<string, unknown>;
  service: unknown;
}

type Attribute = { key: string; value: Record<string, unknown> };
interface ExportRequest {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes' | 'service'> & { attributes: Attribute[] })[] }[];
  }[];
}

const toObject = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A fake OpenTelemetry collector that accepts traces by OTLP over HTTP with JSON. */
export class OtlpCollector extends HttpFake {
  readonly spans: ReceivedSpan[] = [];
  /** Everything that was received, as text. */
  text = '';

  inTrace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readTextBody(request);
    if (request.url !== '/v1/traces') return sendJson(response, 404, {});
    this.text += body;
    const { resourceSpans }: ExportRequest = JSON.parse(body);
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = toObject(resource.attributes)['service.name'];
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({ ...span, attributes: toObject(span.attributes), service });
    }
    return sendJson(response, 200, {});
  }
}

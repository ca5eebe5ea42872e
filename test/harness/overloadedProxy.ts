import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { HttpFake } from '../fakes/httpFake.ts';

/** The service behind a proxy that answers 503 in place of some responses. */
export class OverloadedProxy extends HttpFake {
  /** Paths whose responses are lost. */
  lost = /$^/;
  /** Key of the last create. */
  idempotencyKey: string | undefined;
  readonly #target: string;

  constructor(target: string) {
    super();
    this.#target = target;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const { authorization = '', 'content-type': type = '', 'idempotency-key': key } = headers as Record<string, string>;
    const body = await text(request);
    const forwarded = await fetch(`${this.#target}${url}`, {
      method,
      headers: { authorization, 'content-type': type, ...(key === undefined ? {} : { 'idempotency-key': key }) },
      body: body === '' ? null : body,
    });
    this.idempotencyKey = key ?? this.idempotencyKey;
    response.setHeader('content-type', 'application/json');
    if (!this.lost.test(url)) return void response.writeHead(forwarded.status).end(await forwarded.text());
    // The client does not repeat a request after a longer time than a minute.
    response.writeHead(503, { 'retry-after': '61' });
    response.end(JSON.stringify({ error: 'internal_error', detail: 'Overloaded.' }));
  }
}

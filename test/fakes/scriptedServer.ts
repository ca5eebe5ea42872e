import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { HttpFake } from './httpFake.ts';
import { type Misbehaviour, misbehave, type VerbatimResponse } from './misbehave.ts';

/** A received request. */
export interface ScriptedRequest {
  /** Method and path with its query. */
  call: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer<ArrayBuffer>;
}

type Answer = VerbatimResponse | Misbehaviour;

/** A server whose responses a test sets, by method and path with query. It records all requests, and has no others. */
export class ScriptedServer extends HttpFake {
  readonly requests: ScriptedRequest[] = [];
  readonly #answers = new Map<string, Answer>();

  /** Sets the response to a request. */
  on(call: string, answer: Answer): this {
    this.#answers.set(call, answer);
    return this;
  }

  /** Removes all responses and requests. */
  reset(): void {
    this.requests.length = 0;
    this.#answers.clear();
  }

  get calls(): string[] {
    return this.requests.map(({ call }) => call);
  }

  get last(): ScriptedRequest {
    return this.requests.at(-1) as ScriptedRequest;
  }

  /** Body of the last request as JSON. */
  get lastJson(): unknown {
    return JSON.parse(this.last.bytes.toString());
  }

  /** Body of the last request as a form. Files are given with their types and contents. */
  async readLastForm(): Promise<[string, string][]> {
    const { headers, bytes } = this.last;
    const form = await new Response(bytes, { headers: { 'content-type': String(headers['content-type']) } }).formData();
    const fields = [...form].map(async ([name, value]): Promise<[string, string]> => {
      if (typeof value === 'string') return [name, value];
      return [name, `${value.name} ${value.type} ${Buffer.from(await value.arrayBuffer()).toString()}`];
    });
    return Promise.all(fields);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = Buffer.concat(await request.toArray());
    const call = `${request.method} ${request.url}`;
    this.requests.push({ call, headers: request.headers, bytes });
    const answer = this.#answers.get(call) ?? { status: 418, body: { error: `${call} has no response` } };
    misbehave(answer, request, response);
  }
}

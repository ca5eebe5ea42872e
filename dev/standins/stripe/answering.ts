import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBody } from '../misbehave.ts';
import type { Books } from './books.ts';
import { BROKEN, type Faults, misbehaveFirst, misbehaveLast, takeFault } from './faults.ts';
import { Params, parseForm } from './form.ts';
import { type Answer, IdempotencyKeys } from './idempotency.ts';
import { expanded } from './pages.ts';
import { Refusal, ValidationRefusal } from './refusal.ts';
import { type RequestName, type Route, routeOf } from './routes.ts';

/** A request as it came, for tests that want to know what was asked. */
export interface StandInRequest {
  name: RequestName;
  path: string;
  params: object;
  idempotencyKey: string | undefined;
  apiVersion: string | undefined;
}

/** Answers requests as Stripe's API does. */
export class Answering {
  readonly faults: Faults = {};
  /** How long each request takes. */
  latencyMs = 0;
  readonly requests: StandInRequest[] = [];
  readonly keys = new IdempotencyKeys();
  private readonly books: Books;
  private readonly secretKey: string;

  constructor(books: Books, secretKey: string) {
    this.books = books;
    this.secretKey = secretKey;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.serve(request, response);
    } catch (error) {
      const refusal =
        error instanceof Refusal
          ? error
          : new Refusal(500, { type: 'api_error', message: String((error as Error).stack) });
      send(response, { status: refusal.status, body: { error: refusal.fields } });
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    const text = await readBody(request);
    this.authenticate(request.headers.authorization);
    const method = request.method ?? 'GET';
    const route = routeOf(method, pathname);
    if (route === undefined) {
      throw new Refusal(404, { message: `Unrecognized request URL (${method}: ${pathname}).` });
    }
    const params = new Params(parseForm(`${search.slice(1)}&${text}`));
    const key = method === 'POST' ? headerOf(request, 'idempotency-key') : undefined;
    const apiVersion = headerOf(request, 'stripe-version');
    this.requests.push({ name: route.name, path: pathname, params: params.form, idempotencyKey: key, apiVersion });

    const fault = takeFault(this.faults, route.name);
    if (misbehaveFirst(fault, request)) return;
    const fingerprint = JSON.stringify([method, pathname, params.form]);
    const known = key === undefined ? null : this.keys.take(key, fingerprint, this.books.now());
    if (known !== null) {
      if (!misbehaveLast(fault, response)) send(response, known, { 'idempotent-replayed': 'true' });
      return;
    }
    const answer = await this.keep(key, async () => {
      if (this.latencyMs > 0) await sleep(this.latencyMs);
      if (fault === 'error kept') throw BROKEN;
      return this.perform(route, params);
    });
    if (!misbehaveLast(fault, response)) send(response, answer);
  }

  /** Keeps the outcome of a request that has begun to execute under its key, 4xx included; not what failed validation. */
  private async keep(key: string | undefined, work: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await work();
      if (key !== undefined) this.keys.keep(key, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof Refusal)) {
        if (key !== undefined) this.keys.release(key);
        throw error;
      }
      const answer = { status: error.status, body: { error: error.fields } };
      const wasBegun = !(error instanceof ValidationRefusal);
      if (key !== undefined && wasBegun) this.keys.keep(key, answer);
      else if (key !== undefined) this.keys.release(key);
      return answer;
    }
  }

  private perform({ handler, id }: Route, params: Params): Answer {
    const body = handler(this.books, params, id);
    return { status: 200, body: expanded(this.books, body, params.texts('expand'), params) };
  }

  private authenticate(authorization = ''): void {
    const [scheme, value = ''] = authorization.split(' ');
    const key = scheme === 'Basic' ? Buffer.from(value, 'base64').toString().split(':')[0] : value;
    if (key === this.secretKey) return;
    const message =
      key === '' ? 'You did not provide an API key.' : `Invalid API Key provided: ${key?.slice(0, 8)}****`;
    throw new Refusal(401, { message });
  }
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function send(response: ServerResponse, { status, body }: Answer, headers: Record<string, string> = {}): void {
  const requestId = `req_${randomUUID().slice(0, 13)}`;
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': requestId, ...headers });
  response.end(JSON.stringify(body, null, 2));
}

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readTextBody } from '../misbehave.ts';
import type { StripeStore } from './store.ts';
import { type Faults, applyFaultBefore, applyFaultAfter, takeFault } from './faults.ts';
import { StripeParams, parseNestedForm } from './params.ts';
import { type StripeResponse, IdempotencyKeys } from './idempotencyKeys.ts';
import { expandPaths } from './listing.ts';
import { INTERNAL_ERROR, StripeApiError, StripeValidationError } from './stripeApiError.ts';
import { type StripeRequestName, type StripeRoute, matchRoute } from './routes.ts';

/** A received request, for tests that check requests. */
export interface RecordedStripeRequest {
  name: StripeRequestName;
  path: string;
  params: object;
  idempotencyKey: string | undefined;
  apiVersion: string | undefined;
}

/** Answers requests as Stripe's API does. */
export class StripeApiServer {
  readonly faults: Faults = {};
  /** Duration of each request. */
  latencyMs = 0;
  readonly requests: RecordedStripeRequest[] = [];
  readonly keys = new IdempotencyKeys();
  private readonly store: StripeStore;
  private readonly secretKey: string;

  constructor(store: StripeStore, secretKey: string) {
    this.store = store;
    this.secretKey = secretKey;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.serve(request, response);
    } catch (error) {
      const rejection =
        error instanceof StripeApiError
          ? error
          : new StripeApiError(500, { type: 'api_error', message: String((error as Error).stack) });
      sendResponse(response, { status: rejection.status, body: { error: rejection.fields } });
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    const text = await readTextBody(request);
    this.authenticate(request.headers.authorization);
    const method = request.method ?? 'GET';
    const route = matchRoute(method, pathname);
    if (route === undefined) {
      throw new StripeApiError(404, { message: `Unrecognized request URL (${method}: ${pathname}).` });
    }
    const params = new StripeParams(parseNestedForm(`${search.slice(1)}&${text}`));
    const key = method === 'POST' ? getHeader(request, 'idempotency-key') : undefined;
    const apiVersion = getHeader(request, 'stripe-version');
    this.requests.push({ name: route.name, path: pathname, params: params.form, idempotencyKey: key, apiVersion });

    const fault = takeFault(this.faults, route.name);
    if (applyFaultBefore(fault, request)) return;
    const fingerprint = JSON.stringify([method, pathname, params.form]);
    const known = key === undefined ? null : this.keys.reserve(key, fingerprint, this.store.now());
    if (known !== null) {
      if (!applyFaultAfter(fault, response)) sendResponse(response, known, { 'idempotent-replayed': 'true' });
      return;
    }
    const result = await this.saveResponse(key, async () => {
      if (this.latencyMs > 0) await sleep(this.latencyMs);
      if (fault === 'error kept') throw INTERNAL_ERROR;
      return this.execute(route, params);
    });
    if (!applyFaultAfter(fault, response)) sendResponse(response, result);
  }

  /** Saves the outcome of a request that executed under its key, 4xx included. Failed validation is not saved. */
  private async saveResponse(key: string | undefined, work: () => Promise<StripeResponse>): Promise<StripeResponse> {
    try {
      const result = await work();
      if (key !== undefined) this.keys.save(key, result);
      return result;
    } catch (error) {
      if (!(error instanceof StripeApiError)) {
        if (key !== undefined) this.keys.release(key);
        throw error;
      }
      const result = { status: error.status, body: { error: error.fields } };
      const wasBegun = !(error instanceof StripeValidationError);
      if (key !== undefined && wasBegun) this.keys.save(key, result);
      else if (key !== undefined) this.keys.release(key);
      return result;
    }
  }

  private execute({ handler, id }: StripeRoute, params: StripeParams): StripeResponse {
    const body = handler(this.store, params, id);
    return { status: 200, body: expandPaths(this.store, body, params.texts('expand'), params) };
  }

  private authenticate(authorization = ''): void {
    const [scheme, value = ''] = authorization.split(' ');
    const key = scheme === 'Basic' ? Buffer.from(value, 'base64').toString().split(':')[0] : value;
    if (key === this.secretKey) return;
    const message =
      key === '' ? 'You did not provide an API key.' : `Invalid API Key provided: ${key?.slice(0, 8)}****`;
    throw new StripeApiError(401, { message });
  }
}

function getHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function sendResponse(
  response: ServerResponse,
  { status, body }: StripeResponse,
  headers: Record<string, string> = {},
): void {
  const requestId = `req_${randomUUID().slice(0, 13)}`;
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': requestId, ...headers });
  response.end(JSON.stringify(body, null, 2));
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { Genmeter, GenmeterError, type GenmeterOptions } from '../../packages/client/src/index.ts';
import { HttpFake } from '../fakes/httpFake.ts';

type Reply = (response: ServerResponse) => void;

/** A service that gives prepared responses, in order. */
class ScriptedService extends HttpFake {
  replies: Reply[] = [];
  readonly requests: { method: string; url: string; idempotencyKey: string | undefined; at: number }[] = [];

  protected override async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await request.toArray();
    const { method = '', url = '', headers } = request;
    this.requests.push({
      method,
      url,
      idempotencyKey: headers['idempotency-key'] as string | undefined,
      at: Date.now(),
    });
    const reply = this.replies.shift();
    if (reply === undefined) throw new Error(`No response is prepared for ${method} ${url}.`);
    reply(response);
  }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-1', ...headers })
      .end(JSON.stringify(body));
const error = (status: number, code: string, headers?: Record<string, string>) =>
  json(status, { error: code, detail: `${code}.` }, headers);
const page: Reply = (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
const lost: Reply = (response) => response.destroy();
/** Breaks off within the body. */
const truncated: Reply = (response) => {
  response.writeHead(201, { 'content-length': '100' });
  response.write('{"uuid":');
  setTimeout(() => response.destroy(), 20);
};
const silent: Reply = () => {};
const redirect: Reply = (response) => response.writeHead(301, { location: 'https://example.com/' }).end();
const text: Reply = (response) => response.writeHead(200).end('hello');
const created = json(201, { uuid: 'one', status: 'queued' });
const noContent: Reply = (response) => response.writeHead(204).end();

const IMAGE = { model: 'imgmodel-2', prompt: 'A lighthouse', params: { resolution: '1K' } } as const;

async function catchError(promise: Promise<unknown>): Promise<GenmeterError> {
  const outcome = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(outcome).to.be.instanceOf(GenmeterError);
  return outcome as GenmeterError;
}

describe('the retries of the client', () => {
  const service = new ScriptedService();
  before(() => service.start());
  after(() => service.stop());
  beforeEach(() => {
    service.replies = [];
    service.requests.length = 0;
  });
  const createClient = (options: Partial<GenmeterOptions> = {}) =>
    new Genmeter({ key: 'svc_test', baseUrl: service.url, ...options });

  it('repeat a create after lost, truncated and unavailable responses, with the same idempotency key', async () => {
    service.replies = [lost, truncated, error(503, 'internal_error'), page, created];
    const generation = await createClient().generations.create(IMAGE);
    expect(generation.uuid).to.equal('one');
    expect(service.requests).to.have.length(5);
    const keys = new Set(service.requests.map(({ idempotencyKey }) => idempotencyKey));
    expect([...keys][0]).to.match(/^[0-9a-f]{32}$/);
    expect(keys.size).to.equal(1);
    expect(service.replies).to.deep.equal([]);
  });

  it('use a new idempotency key for each create, or the one of the caller', async () => {
    service.replies = [created, created, created];
    const { generations } = createClient();
    await generations.create(IMAGE);
    await generations.create(IMAGE);
    await generations.create(IMAGE, { idempotencyKey: 'order-7' });
    const [one, other, own] = service.requests.map(({ idempotencyKey }) => idempotencyKey);
    expect(one).to.not.equal(other);
    expect(own).to.equal('order-7');
  });

  it('do not conceal an idempotency key that a header cannot contain', async () => {
    const { generations } = createClient();
    for (const idempotencyKey of ['', 'order-\u20ac', 'a\nb']) {
      const thrown = await generations.create(IMAGE, { idempotencyKey }).catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(TypeError).and.include({
        message: 'idempotencyKey must consist of printable ASCII characters.',
      });
    }
    expect(service.requests).to.deep.equal([]);
  });

  it('end at once with the error if Retry-After is longer than a minute', async () => {
    service.replies = [error(503, 'internal_error', { 'retry-after': '61' })];
    const thrown = await catchError(createClient().usage.summary());
    expect(thrown.retryAfterMs).to.equal(61_000);
    expect(service.requests).to.have.length(1);
  });

  it('are bounded, and the last error is thrown', async () => {
    service.replies = [lost, lost, error(503, 'model_unavailable')];
    const thrown = await catchError(createClient({ maxRetries: 2 }).generations.create(IMAGE));
    expect(thrown).to.include({
      error: 'model_unavailable',
      detail: 'model_unavailable.',
      status: 503,
      requestId: 'req-1',
    });
  });

  it('do not report a lost create as rejected by the rate limit', async () => {
    service.replies = [lost, error(429, 'rate_limited', { 'retry-after': '61' })];
    expect(await catchError(createClient().generations.create(IMAGE))).to.include({ error: 'network_error' });
    expect(service.requests).to.have.length(2);
  });

  for (const [status, code] of [
    [400, 'validation_error'],
    [401, 'invalid_api_key'],
    [402, 'insufficient_credits'],
    [409, 'parallel_limit_reached'],
    [500, 'internal_error'],
  ] as const) {
    it(`do not repeat a ${status}`, async () => {
      service.replies = [error(status, code)];
      expect(await catchError(createClient().generations.create(IMAGE))).to.include({ status, error: code });
      expect(service.requests).to.have.length(1);
    });
  }

  it('send a test event and a redelivery once if the response was lost, and again after a 429', async () => {
    const { webhooks } = createClient();
    service.replies = [lost, error(503, 'internal_error'), error(429, 'rate_limited'), json(200, { uuid: 'delivery' })];
    expect(await catchError(webhooks.test('one'))).to.include({ error: 'network_error', status: undefined });
    expect(await catchError(webhooks.redeliver('one', 'two'))).to.include({ status: 503 });
    expect(await webhooks.test('one')).to.deep.equal({ uuid: 'delivery' });
    expect(service.requests).to.have.length(4);
  });

  it('treat a 404 as success if the response to an earlier delete was lost, and only then', async () => {
    service.replies = [lost, error(404, 'not_found'), error(404, 'not_found'), noContent];
    const { generations } = createClient();
    expect(await generations.delete('one')).to.equal(undefined);
    expect(await catchError(generations.delete('one'))).to.include({ error: 'not_found' });
    expect(await generations.delete('two')).to.equal(undefined);
  });

  it('repeat a request that exceeded the timeout', async () => {
    service.replies = [silent, json(200, { plan: null })];
    expect(await createClient({ timeout: 200 }).usage.summary()).to.deep.equal({ plan: null });
    service.replies = [silent];
    expect(await catchError(createClient({ timeout: 200, maxRetries: 0 }).usage.summary())).to.include({
      error: 'timeout',
    });
  });

  it('end with the reason of the signal, also during a pause', async () => {
    service.replies = [error(429, 'rate_limited', { 'retry-after': '30' }), silent];
    const startedAt = Date.now();
    for (const reason of ['first', 'second']) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error(reason)), 100);
      const outcome = await createClient()
        .usage.summary({ signal: controller.signal })
        .catch((thrown: unknown) => thrown);
      expect(outcome).to.include({ message: reason });
    }
    const aborted = createClient().usage.summary({ signal: AbortSignal.abort(new Error('before')) });
    expect(await aborted.catch((thrown: unknown) => thrown)).to.include({ message: 'before' });
    expect(service.requests).to.have.length(2);
    expect(Date.now() - startedAt).to.be.below(5_000);
  });

  it('send a file again after a lost connection, and the key to no other address than the service', async () => {
    const sent: [string, string, boolean][] = [];
    let failures = 2;
    const client = new Genmeter({
      key: 'svc_test',
      baseUrl: 'https://example.com',
      fetch: async (url, init) => {
        const { method = '' } = init ?? {};
        sent.push([method, url as string, new Headers(init?.headers).has('authorization')]);
        if (method !== 'PUT')
          return Response.json({ uuid: 'one', upload_url: 'https://files.example/one', headers: {} });
        failures -= 1;
        if (failures >= 0) throw new TypeError('fetch failed');
        return new Response(null, { status: 204 });
      },
    });
    expect((await client.uploads.upload(new Uint8Array(3), 'image/png')).uuid).to.equal('one');
    expect(sent).to.deep.equal([
      ['POST', 'https://example.com/api/uploads/create/', true],
      ['PUT', 'https://files.example/one', false],
      ['PUT', 'https://files.example/one', false],
      ['PUT', 'https://files.example/one', false],
      ['GET', 'https://example.com/api/uploads/one/', true],
    ]);
  });

  it('give an attempt to send a file more time than the timeout', async () => {
    const { uploads } = new Genmeter({
      baseUrl: 'https://example.com',
      timeout: 50,
      maxRetries: 0,
      fetch: async (_url, init) => {
        await delay(300, undefined, { signal: init?.signal ?? undefined });
        return new Response(null, { status: 204 });
      },
    });
    const created = { uuid: 'one', upload_url: 'https://files.example/one', headers: {}, expires_at: '' };
    await uploads.send(created, new Uint8Array(3));
    expect(await catchError(uploads.get('one'))).to.include({ error: 'timeout' });
  });

  it('do not make a wait read more often than every two seconds if the service does not hold its response back', async () => {
    service.replies = [json(200, { status: 'queued' }), json(200, { status: 'succeeded' })];
    const startedAt = Date.now();
    expect(await createClient().generations.wait('one')).to.deep.equal({ status: 'succeeded' });
    const [, second] = service.requests;
    expect((second?.at ?? 0) - startedAt).to.be.at.least(1_990);
    expect(second?.url).to.equal('/api/generations/one/?wait=30');
  });

  it('describe responses that are not those of the service', async () => {
    service.replies = [redirect, text, page];
    const client = createClient({ maxRetries: 0 });
    expect((await catchError(client.usage.summary())).detail).to.match(/ redirects\. .*: https:\/\/example\.com\/$/);
    expect(await catchError(client.usage.summary())).to.include({ error: 'unexpected_response', status: 200 });
    expect(await catchError(client.usage.summary())).to.include({ error: 'unexpected_response', status: 502 });
  });
});

describe('the options of the client', () => {
  it('the path of baseUrl precedes those of the interface, and fetch replaces the global one', async () => {
    const requested: string[] = [];
    const client = new Genmeter({
      baseUrl: 'https://example.com/proxy/',
      fetch: async (url) => {
        requested.push(url as string);
        return Response.json([]);
      },
    });
    await client.plans.list();
    expect(requested).to.deep.equal(['https://example.com/proxy/api/billing/plans/']);
  });
});

describe('the lists of the client', () => {
  const pages = [
    ['f', 'e'],
    ['e', 'd'],
    ['c', 'b'],
  ];
  const client = new Genmeter({
    baseUrl: 'https://example.com',
    fetch: async (url) => {
      const number = Number(new URL(url as string).searchParams.get('page'));
      const data = (pages[number - 1] ?? []).map((uuid) => ({ uuid }));
      return Response.json({ data, pagination: { next: number < pages.length ? 'more' : null } });
    },
  });

  it('return an item once that moved to the next page because another was added meanwhile', async () => {
    const uuids: string[] = [];
    for await (const { uuid } of client.generations.list()) uuids.push(uuid);
    expect(uuids).to.deep.equal(['f', 'e', 'd', 'c', 'b']);
  });
});

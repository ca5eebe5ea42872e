import { expect } from 'chai';
import { WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE } from '../../shared/spec/events.ts';
import { lintDocument } from '../harness/openapiLint.ts';
import { OpenApiValidator, getOpenApiValidator } from '../harness/openapiValidation.ts';
import { ROUTES } from '../harness/routes.ts';
import { useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';

type Json = Record<string, any>;

/** Makes a process print on stderr which files it reads. */
const REPORT_FILE_READS = `--import=data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  for (const [of, name] of [[fs, 'readFileSync'], [fs.promises, 'readFile']]) {
    const read = of[name];
    of[name] = (path, ...more) => {
      process.stderr.write('reads ' + path + '\\n');
      return read(path, ...more);
    };
  }
  syncBuiltinESMExports();
`)}`;

/** Lists all operations of a document by `METHOD path`. */
function listOperations(document: Json): [string, Json][] {
  return Object.entries(document['paths'] as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, operation]): [string, Json] => [
      `${method.toUpperCase()} ${path}`,
      operation as Json,
    ]),
  );
}

describe('the OpenAPI document', () => {
  const service = useTestService({ workers: 0 });
  let document: Json;
  before(async () => {
    document = (await service.request('GET', '/api/openapi.json')).body;
  });

  it('is OpenAPI 3.1 and has the version of /api/health/ and the address of the service', async () => {
    const { body, headers } = await service.request('GET', '/api/openapi.json');
    expect(body.openapi).to.match(/^3\.1\.\d+$/);
    expect(body.info.version).to.equal('2.0.0');
    expect((await service.request('GET', '/api/health/')).body.version).to.equal(body.info.version);
    expect(body.servers).to.deep.equal([{ url: service.baseUrl }]);
    expect(headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(headers.get('access-control-allow-origin')).to.equal('*');
  });

  it('passes the strict rules of a linter', async () => {
    expect(await lintDocument(document)).to.deep.equal([]);
  });

  it('does not link to a license text, because there is none', () => {
    expect(document['info'].license).to.deep.equal({ name: 'Proprietary', url: service.baseUrl });
  });

  it('fails the linter with an invalid example or without a summary', async () => {
    const broken = structuredClone(document);
    const create = broken['paths']['/api/generations/create/'].post;
    delete create.summary;
    create.requestBody.content['application/json'].examples.image.value.model = 'another';
    const rules = (await lintDocument(broken)).map((problem) => problem.split(':')[0]);
    expect(rules).to.include.members(['operation-summary', 'no-invalid-media-type-examples']);
  });

  it('describes every REST route of the router, and no other', () => {
    const rest = ROUTES.filter(({ path, served: { surface } }) => {
      const isProgram = surface === 'rest' || surface === 'json';
      return /^\/(api|authentication)\//.test(path) && isProgram && !path.startsWith('/api/docs/');
    }).map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(rest.length).to.be.above(20);
    expect(listOperations(document).map(([name]) => name)).to.have.members(rest);
    expect(listOperations(getOpenApiValidator().document).map(([name]) => name)).to.have.members(rest);
  });

  it('lists the accepted credentials: an API key in either header, the session cookie, a token with a scope, or none', () => {
    const security = (name: string) => Object.fromEntries(listOperations(document))[name]?.['security'];
    const anyOf = [{ bearerKey: [] }, { headerKey: [] }, { session: [] }];
    expect(security('POST /api/generations/create/')).to.deep.equal([...anyOf, { accessToken: ['svc:write'] }]);
    expect(security('GET /api/ledger/')).to.deep.equal([...anyOf, { accessToken: ['svc:read'] }]);
    expect(security('GET /api/keys/')).to.deep.equal(anyOf);
    expect(security('GET /api/admin/metrics/')).to.deep.equal(anyOf);
    expect(security('GET /authentication/me/')).to.deep.equal([{ session: [] }]);
    expect(security('GET /api/models/')).to.deep.equal([]);
    expect(document['components'].securitySchemes).to.deep.include.keys(
      'bearerKey',
      'headerKey',
      'session',
      'accessToken',
    );
  });

  it('lists every error code of a create by status', () => {
    const { responses } = document['paths']['/api/generations/create/'].post;
    const codes = Object.entries(responses as Json)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, { $ref }]) => {
        const response = document['components'].responses[$ref.split('/').at(-1)];
        return [status, response.content['application/json'].schema.properties.error.enum];
      });
    expect(Object.fromEntries(codes)).to.deep.equal({
      400: ['validation_error', 'content_rejected'],
      401: ['invalid_api_key'],
      402: ['insufficient_credits', 'subscription_required', 'spending_limit_reached'],
      403: ['account_suspended', 'insufficient_scope'],
      409: ['parallel_limit_reached'],
      413: ['validation_error'],
      429: ['rate_limited'],
      500: ['internal_error'],
      503: ['model_unavailable', 'internal_error'],
    });
    expect(Object.keys(responses['201'].headers)).to.include.members(['RateLimit', 'Idempotent-Replayed']);
  });

  it('has a webhook of each type, whose data has the schema of the response to GET', () => {
    const { webhooks, paths } = document as { webhooks: Json; paths: Json };
    expect(Object.keys(webhooks)).to.have.members([...WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE]);
    const getSchema = ({ content }: Json) => content['application/json'].schema;
    const getData = (type: string) => getSchema(webhooks[type].post.requestBody).properties.data;
    const getResponse = (path: string) => getSchema(paths[path].get.responses['200']);
    for (const type of ['generation.succeeded', 'generation.failed'])
      expect(getData(type)).to.deep.equal(getResponse('/api/generations/{uuid}/'));
    expect(getData('subscription.updated')).to.deep.equal(getResponse('/api/billing/status/'));
    expect(getData('key.created')).to.deep.equal(getResponse('/api/keys/').properties.data.items);
  });

  it('contains the limits that requests are validated against', async () => {
    const { schema } = document['paths']['/api/billing/topup/'].post.requestBody.content['application/json'];
    expect(schema.properties.amount_cents).to.deep.equal({ type: 'integer', minimum: 5_000, maximum: 1_000_000 });
    const video = document['components'].schemas.VideoParams;
    expect(video.properties.duration.enum).to.deep.equal([5, 10]);
    expect(JSON.stringify(document)).to.not.match(/"trimmed"|"format":"text"/);
  });

  it('is the schema for all responses in tests: a response that does not match fails', () => {
    const held = new OpenApiValidator(document);
    const seen = (status: number, body: unknown, headers = {}) =>
      held.findProblem('GET', '/api/health', { status, body, headers: new Headers(headers) });
    expect(seen(200, { status: 'ok', version: '2.0.0' })).to.equal(undefined);
    expect(seen(200, { status: 'ok' })).to.include('version');
    expect(seen(200, { status: 'ok', version: '2.0.0', more: 1 })).to.include('additional properties');
    expect(seen(409, { error: 'parallel_limit_reached', detail: 'No.' })).to.include('status');
    const limited = { status: 429, body: { error: 'rate_limited', detail: 'No.' }, headers: new Headers() };
    expect(held.findProblem('GET', '/api/models', limited)).to.include('Retry-After');
    expect(seen(200, { status: 'ok', version: '2.0.0' }, { 'retry-after': '1' })).to.include('Retry-After');
    expect(seen(500, { error: 'not_found', detail: 'No.' })).to.include('allowed values');
  });

  describe('the documentation page', () => {
    it('loads only its own files, under a policy that blocks everything else', async () => {
      const { status, headers, body } = await service.request('GET', '/api/docs/');
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.equal('text/html; charset=utf-8');
      const policy = headers.get('content-security-policy') as string;
      expect(policy).to.include("default-src 'none'").and.to.include("script-src 'self';");
      expect(policy).to.not.match(/https?:|\*/);
      const addresses = [...(body as string).matchAll(/<(?!a )[^>]+ (?:src|href)="([^"]+)"/g)].map(
        ([, address]) => address,
      );
      expect(
        addresses.filter((address) => !/^(\/api\/docs\/|\/assets\/|data:image\/svg)/.test(address as string)),
      ).to.deep.equal([]);
      expect(body).to.not.match(/<script(?![^>]*src=)/);
      for (const address of addresses.filter((address) => address?.startsWith('/api/docs/'))) {
        const file = await fetch(`${service.baseUrl}${address}`);
        expect(file.status, address).to.equal(200);
        expect((await file.arrayBuffer()).byteLength, address).to.be.above(100);
        const etag = file.headers.get('etag') as string;
        const again = await fetch(`${service.baseUrl}${address}`, {
          // Replaces the `no-cache` that `fetch` sends and browsers do not.
          headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
        });
        expect(again.status, address).to.equal(304);
      }
    });

    it('reads its files once, at the first request', async () => {
      const api = await service.startApi({ NODE_OPTIONS: REPORT_FILE_READS });
      const reads = () => api.logs().match(/^reads .*swagger-ui-bundle\.js$/gm)?.length ?? 0;
      expect(reads()).to.equal(0);
      const ask = async (method: string, headers = {}) => {
        const reply = await fetch(`${api.baseUrl}/api/docs/swagger-ui-bundle.js`, { method, headers });
        await reply.arrayBuffer();
        return [reply.status, reply.headers.get('etag')];
      };
      const [[, etag] = []] = await Promise.all(Array.from({ length: 5 }, () => ask('GET')));
      expect(etag).to.match(/^"[\w-]{22}"$/);
      for (const method of ['GET', 'HEAD']) {
        expect(await ask(method)).to.deep.equal([200, etag]);
        expect(await ask(method, { 'if-none-match': etag, 'cache-control': 'max-age=0' })).to.deep.equal([304, etag]);
      }
      await api.stop();
      expect(reads()).to.equal(1);
    });

    it('has no other files', async () => {
      for (const name of ['package.json', 'index.html', '..%2fpackage.json', 'constructor', '__proto__']) {
        expectError(await service.request('GET', `/api/docs/${name}`), 'not_found');
      }
    });
  });
});

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { OtlpCollector, type ReceivedSpan } from '../fakes/otlpCollector.ts';
import { IMAGE } from '../harness/apiClient.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const [SERVER, CLIENT, CONSUMER] = [2, 3, 5];

describe('traces', () => {
  let collector: OtlpCollector;
  let service: TestService;
  before(async () => {
    collector = await new OtlpCollector().start();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'genmeter-test' };
    service = await startTestService({ env });
  });
  after(async () => {
    await service.stop();
    await collector.stop();
  });

  it('follow a generation from the request of a client through its jobs to the upstream', async () => {
    const customer = await service.createCustomer('studio');
    const traceId = randomBytes(16).toString('hex');
    const callerSpan = randomBytes(8).toString('hex');
    const created = await customer.request('POST', '/api/generations/create/', {
      body: { ...IMAGE, prompt: 'a secret lighthouse' },
      headers: { traceparent: `00-${traceId}-${callerSpan}-01` },
    });
    expect(created.status).to.equal(201);
    await customer.waitForEnd(created.body.uuid);
    await customer.request('GET', '/api/ready/');

    const find = (name: string) => collector.inTrace(traceId).find((span) => span.name === name);
    await eventually('the spans of the worker arrive', () => find('complete_generations') !== undefined, 30_000);
    const server = find('POST /api/generations/create/') as ReceivedSpan;
    expect(server).to.include({ kind: SERVER, parentSpanId: callerSpan, service: 'genmeter-test' });
    expect(server.attributes).to.include({ 'http.route': '/api/generations/create/' });
    expect(find('charge_generations')).to.include({ kind: CLIENT, parentSpanId: server.spanId });
    const job = find('process generation.dispatch') as ReceivedSpan;
    expect(job).to.include({ kind: CONSUMER, parentSpanId: server.spanId });
    expect(job.attributes).to.include({ 'messaging.destination.name': 'dispatch' });
    expect(find('submit fal')).to.include({ kind: CLIENT });
    const systems = collector.inTrace(traceId).map(({ attributes }) => attributes['db.system.name']);
    expect(systems).to.include('postgresql').and.to.include('redis');

    expect(collector.text).to.not.include('a secret lighthouse').and.to.not.include(customer.key);
    expect(collector.spans.map(({ name }) => name)).to.not.include('GET /api/ready/');
  });

  it('show that the charge alone reads the API key of a create, once the process knows it', async () => {
    const customer = await service.createCustomer('studio');
    await customer.createImage();
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
    const created = await customer.request('POST', '/api/generations/create/', {
      body: { ...IMAGE, prompt: 'a lighthouse' },
      headers,
    });
    expect(created.status).to.equal(201);
    const listNames = () => collector.inTrace(traceId).map(({ name }) => name);
    await eventually('the spans of the charge arrive', () => listNames().includes('charge_generations'), 30_000);
    expect(listNames()).to.not.include('find_api_key_owners');
  });

  it('continue without a collector, and processes stop in time', async () => {
    await collector.stop();
    const customer = await service.createCustomer('studio');
    const { uuid } = await customer.createImage();
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    await collector.start();
  });
});

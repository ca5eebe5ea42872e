import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { PNG } from '../fakes/misbehave.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { connectMcpClient } from '../harness/mcpClient.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const SERIES = {
  name: 'Series',
  kind: 'image',
  description: 'Several images from a text prompt.',
  params: { count: { type: 'integer', minimum: 1, maximum: 4, default: 1 } },
  outputs: '$count',
  credits: 3,
};
const CATALOG = JSON.stringify({
  models: {
    series: { ...SERIES, upstreams: ['fal:acme/series'] },
    strip: { ...SERIES, upstreams: ['gpu:acme/strip'] },
  },
});
const buildUpstreams = (gpuUrl: string) => ({
  upstreams: { gpu: { adapter: 'openai', base_url: `${gpuUrl}/v1`, local: true } },
  models: {
    'fal:acme/series': { input: { prompt: '$prompt', num_images: '$count' }, cents: 2 },
    'gpu:acme/strip': { input: { prompt: '$prompt', n: '$count' }, cents: 1 },
  },
});

describe('a generation with several files', () => {
  /** Responds with the images themselves. */
  const gpu = new FakeUpstream();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await gpu.start();
    service = await startTestService({ env: { CATALOG, UPSTREAMS: JSON.stringify(buildUpstreams(gpu.url)) } });
    customer = await service.createCustomer();
  });
  after(async () => {
    await service.stop();
    await gpu.stop();
  });
  afterEach(() => service.upstream.reset());

  const create = (count: number, model = 'series') => customer.createGeneration({ model, params: { count } });

  async function make(count: number, model?: string) {
    const { body } = await create(count, model);
    return customer.waitForEnd(body.uuid);
  }

  const findRow = async (uuid: string) => (await service.sql('SELECT * FROM generations WHERE uuid = $1', [uuid]))[0];

  it('charges each, and stores each with a thumbnail; output_url is the first', async () => {
    const { body: queued } = await create(3);
    expect([queued.credits_charged, 'outputs' in queued]).to.deep.equal([9, false]);
    const made = await customer.waitForEnd(queued.uuid);
    expect(made.status).to.equal('succeeded');
    expect(made.outputs).to.have.length(3);
    expect(made.outputs[0]).to.deep.equal({ output_url: made.output_url, thumbnail_url: made.thumbnail_url });
    const urls = made.outputs.flatMap(({ output_url: output, thumbnail_url: thumbnail }: Record<string, string>) => [
      output,
      thumbnail,
    ]);
    expect(new Set(urls).size).to.equal(6);
    for (const url of urls) expect((await fetch(url)).status, url).to.equal(200);
    expect(Buffer.from(await (await fetch(made.outputs[2].output_url)).arrayBuffer())).to.deep.equal(PNG);
    expect(Number((await findRow(queued.uuid)).provider_cost_cents)).to.equal(6);
    const listed = (await customer.request('GET', '/api/generations/')).body.data;
    expect(listed[0].outputs).to.deep.equal(made.outputs);
  });

  it('takes all of them from the response to the submit', async () => {
    const made = await make(3, 'strip');
    expect([made.status, made.credits_charged]).to.deep.equal(['succeeded', 9]);
    expect(made.outputs).to.have.length(3);
    for (const { output_url: url } of made.outputs)
      expect(Buffer.from(await (await fetch(url)).arrayBuffer())).to.deep.equal(PNG);
    expect(Number((await findRow(made.uuid)).provider_cost_cents)).to.equal(3);
    expect(await make(1, 'strip')).to.not.have.property('outputs');
  });

  it('has no list of outputs if it has one, whatever the upstream returns', async () => {
    service.upstream.changeBody = (body, operation) =>
      operation === 'result' ? { ...body, images: [...body.images, ...body.images] } : body;
    const made = await make(1);
    expect([made.credits_charged, 'outputs' in made]).to.deep.equal([3, false]);
  });

  it('shows all on its page, and to an assistant', async () => {
    const made = await make(2);
    const visitor = createBrowserFor(customer);
    const page = await visitor.request(`${service.baseUrl}/account/library/${made.uuid}/`);
    const mcp = await connectMcpClient(customer);
    const read = await mcp.client.callTool({ name: 'get_generation', arguments: { uuid: made.uuid } });
    await mcp.close();
    for (const { output_url: url } of made.outputs) {
      expect(page.text).to.include(`href="${url}" download`);
      expect(read.content[0].text).to.include(url);
    }
    expect(read.structuredContent.outputs).to.deep.equal(made.outputs);
    expect(read.structuredContent.next).to.equal('Show or link all outputs to the user.');
  });

  it('leaves out an output that a filter replaced, and fails if that is all', async () => {
    service.upstream.changeBody = (body, operation) =>
      operation === 'result' ? { ...body, has_nsfw_concepts: [true, false, false] } : body;
    const made = await make(3);
    expect(made.outputs).to.have.length(2);
    // The price is that of the request, and the provider bills for what it replaced.
    expect(made.credits_charged).to.equal(9);
    expect(await customer.ledger())
      .to.deep.include(['burn', -9])
      .and.not.deep.include(['refund', 9]);
    service.upstream.changeBody = (body, operation) =>
      operation === 'result' ? { ...body, has_nsfw_concepts: [true, true] } : body;
    const failed = await make(2);
    expect([failed.status, failed.error_message]).to.deep.equal([
      'failed',
      "The model's content policy does not allow this. Please change the prompt and try again.",
    ]);
  });

  it('fails and is refunded if the upstream makes fewer than were paid for', async () => {
    const { balance } = (await customer.request('GET', '/api/usage/')).body;
    for (const filtered of [[], [true]]) {
      service.upstream.changeBody = (body, operation) =>
        operation === 'result' ? { ...body, images: body.images.slice(0, 2), has_nsfw_concepts: filtered } : body;
      const failed = await make(4);
      expect([failed.status, failed.error_message]).to.deep.equal(['failed', 'The model returned no usable output.']);
    }
    expect((await customer.request('GET', '/api/usage/')).body.balance).to.equal(balance);
  });

  it('fails and is refunded if one of them cannot be stored, and leaves no file', async () => {
    const { balance } = (await customer.request('GET', '/api/usage/')).body;
    service.upstream.changeBody = (body, operation) =>
      operation === 'result' ? { ...body, images: [body.images[0], { url: 'data:text/plain,text' }] } : body;
    const failed = await make(2);
    expect([failed.status, failed.output_url, 'outputs' in failed]).to.deep.equal(['failed', null, false]);
    expect((await customer.request('GET', '/api/usage/')).body.balance).to.equal(balance);
  });

  it('is deleted with all its files', async () => {
    const made = await make(2);
    expect((await customer.request('DELETE', `/api/generations/${made.uuid}/`)).status).to.equal(204);
    for (const { output_url: url } of made.outputs)
      await eventually('deleted', async () => (await fetch(url)).status === 404);
  });

  it('is downloaded by the command line, each file with a number', async () => {
    const made = await make(2);
    const folder = await mkdtemp(join(requireTestEnv('TEST_FOLDER'), 'outputs-'));
    const env = { XDG_CONFIG_HOME: folder, GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key };
    const { status, stderr } = await new TestTerminal(env).run('get', made.uuid, '-o', folder);
    expect(status, stderr).to.equal(0);
    expect((await readdir(folder)).toSorted()).to.deep.equal([`${made.uuid}.2.png`, `${made.uuid}.png`]);
    expect(await readFile(join(folder, `${made.uuid}.2.png`))).to.deep.equal(PNG);
  });

  it('replaces no file on the command line except with --force: the first is checked before the charge', async () => {
    const folder = await mkdtemp(join(requireTestEnv('TEST_FOLDER'), 'outputs-'));
    const env = { XDG_CONFIG_HOME: folder, GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key };
    const [first, second] = [join(folder, 'a.png'), join(folder, 'a.2.png')];
    const run = (...args: string[]) => new TestTerminal(env).run(...args);
    const create = () => run('create', 'image', 'Two', '-m', 'series', '-p', 'count=2', '-o', first);
    await Promise.all([writeFile(first, 'precious'), writeFile(second, 'precious')]);
    const balance = await customer.balance();
    const refused = await create();
    expect([refused.status, refused.stderr.includes(`${first} exists and was not replaced.`)]).to.deep.equal([2, true]);
    expect(await customer.balance()).to.equal(balance);
    await rm(first);
    const stopped = await create();
    expect([stopped.status, stopped.stderr.includes(`${second} exists and was not replaced.`)]).to.deep.equal([
      1,
      true,
    ]);
    const uuid = /genmeter get (\S+)/.exec(stopped.stderr)?.[1] as string;
    expect(await readFile(second, 'utf8')).to.equal('precious');
    expect((await run('get', uuid, '-o', first)).status).to.equal(2);
    expect((await run('get', uuid, '-o', first, '--force')).status).to.equal(0);
    expect(await readFile(second)).to.deep.equal(PNG);
  });
});

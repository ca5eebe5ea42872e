import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { requireTestEnv } from '../harness/databases.ts';
import { ExecutableDocument } from '../harness/executableDocument.ts';
import { connectMcpClient, describeWithClients } from '../harness/mcpClient.ts';
import { seedImages } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const TOOLS = ['generate_image', 'generate_video', 'get_generation', 'get_usage', 'list_library'];
const IMAGE = { prompt: 'a lighthouse', resolution: '1K' };

/** Lists every property below a schema, with its path. */
function listProperties(schema: any, path = ''): [string, any][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, nested]): [string, any][] => [
    [`${path}${name}`, nested],
    ...listProperties(nested, `${path}${name}.`),
  ]);
}

function completeUuid(client: any, value: string, uri = 'generation://{uuid}'): Promise<any> {
  return client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'uuid', value } });
}

describe('MCP for assistants', () => {
  const service = useTestService();
  beforeEach(() => {
    service.upstream.outcome = 'succeed';
  });

  describeWithClients({ getService: () => service, plan: 'studio' }, (connected) => {
    const { use } = connected;

    it('tools/list describes every argument, and whether the price depends on it', async () => {
      const { tools } = await connected.client.listTools();
      const described = tools.flatMap((tool: any) => listProperties(tool.inputSchema, `${tool.name}.`));
      expect(described.length).to.be.at.least(15);
      for (const [path, { description }] of described) expect(description, path).to.match(/^[A-Zt].{15,}/);
      const { duration, audio, aspect_ratio: ratio } = tools[1].inputSchema.properties;
      expect(duration.description).to.match(/The price depends on it\.$/);
      expect(audio.description).to.match(/The price does not depend on it\.$/);
      expect(ratio.description).to.match(/16:9 is landscape, 9:16 is portrait\./);
    });

    it('an unknown argument is answered with the known ones', async () => {
      const image = await use('generate_image', { ...IMAGE, seed: 1 });
      expect(image.structuredContent).to.deep.equal({
        error: 'validation_error',
        detail: 'seed is not a known field.',
      });
      expect(image.content[0].text).to.equal(
        'validation_error: seed is not a known field. Known arguments: prompt, resolution, aspect_ratio, wait_seconds, dry_run.',
      );
      const usage = await use('get_usage', { days: 7 });
      expect(usage.content[0].text).to.match(/days is not a known field\. Known arguments: none\.$/);
    });

    it('generate_image with wait_seconds returns the finished image', async () => {
      const before = await connected.customer.balance();
      const { structuredContent, content } = await use('generate_image', { ...IMAGE, wait_seconds: 45 });
      const { next, ...generation } = structuredContent;
      expect(generation).to.deep.equal((await connected.customer.readGeneration(generation.uuid)).body);
      expect([generation.status, next]).to.deep.equal(['succeeded', 'Show or link output_url to the user.']);
      expect(content[0].text)
        .to.include(generation.uuid)
        .and.match(/8 credits/)
        .and.match(/output_url|http/);
      expect(content).to.have.length(1);
      expect(await connected.customer.balance()).to.equal(before - 8);
    });

    it('generate_image returns the queued generation when the wait is over, after reports of its progress', async () => {
      service.upstream.outcome = 'wait';
      const prompt = `slow ${randomUUID()}`;
      const reports: any[] = [];
      const onprogress = (report: any) => reports.push(report);
      const { structuredContent, content } = await use(
        'generate_image',
        { ...IMAGE, prompt, wait_seconds: 1 },
        { onprogress },
      );
      expect(structuredContent.status).to.equal('queued');
      expect(structuredContent.next).to.match(/get_generation/);
      expect(content[0].text).to.match(/is queued.*8 credits were charged/);
      expect(reports[0]).to.deep.include({ progress: 0, total: 1 });
      await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
      service.upstream.end(prompt, 'succeeded');
      await connected.customer.waitForEnd(structuredContent.uuid);
    });

    it('get_generation with include_thumbnail adds the thumbnail as an image', async () => {
      const created = await use('generate_image', { ...IMAGE, wait_seconds: 30 });
      const { uuid, thumbnail_url: url } = created.structuredContent;
      const shown = await use('get_generation', { uuid, include_thumbnail: true });
      const [, image, ...others] = shown.content;
      const stored = Buffer.from(await (await fetch(url)).arrayBuffer());
      expect([image.type, image.mimeType]).to.deep.equal(['image', 'image/webp']);
      expect(Buffer.from(image.data, 'base64').equals(stored)).to.equal(true);
      expect(others).to.deep.equal([]);
      const plain = await use('get_generation', { uuid });
      expect(plain.content.map(({ type }: any) => type)).to.deep.equal(['text']);
      expect(shown.structuredContent).to.deep.equal(plain.structuredContent);

      await rm(join(service.env['MEDIA_DIR'] as string, new URL(url).pathname.replace('/media/', '')));
      const missing = await use('get_generation', { uuid, include_thumbnail: true });
      expect(missing.content[0].text).to.match(/^Its thumbnail cannot be shown now\. The image .* succeeded/);
      expect(missing.content).to.have.length(1);
    });

    it('list_library names the last page when a page does not exist, and the credits of each generation', async () => {
      await use('generate_image', { ...IMAGE, wait_seconds: 30 });
      const past = await use('list_library', { page: 99 });
      expect(past.content[0].text).to.match(/^There is no page 99: the last one is 1\. \d+ generations? in total\.$/);
      const first = await use('list_library', { kind: 'image', status: 'succeeded' });
      expect(first.content[0].text).to.match(/^Page 1 of 1;/);
      expect(first.content[0].text).to.match(/succeeded, 8 credits, \d{4}-/);
    });

    it('completion/complete returns the generations of the account whose uuid starts with the value', async () => {
      const [{ uuid: older }, { uuid: newer }] = [
        await connected.customer.createImage(),
        await connected.customer.createImage(),
      ];
      const other = await service.createCustomer('pro');
      const { uuid: theirs } = await other.createImage();
      const all = (await completeUuid(connected.client, '')).completion;
      expect(all.values.slice(0, 2)).to.deep.equal([newer, older]);
      expect(all.values).not.to.include(theirs);
      expect(all.hasMore).to.equal(false);
      expect((await completeUuid(connected.client, older.slice(0, 30).toUpperCase())).completion.values).to.deep.equal([
        older,
      ]);
      for (const value of [theirs, 'x', '%', '_'.repeat(36), `${older.slice(0, 8)}\u0000`])
        expect((await completeUuid(connected.client, value)).completion.values, value).to.deep.equal([]);
      const error = await completeUuid(connected.client, '', 'generation://{id}').then(
        () => undefined,
        (thrown: any) => thrown,
      );
      expect(error?.code).to.equal(-32_602);
      await Promise.all([
        connected.customer.waitForEnd(newer),
        connected.customer.waitForEnd(older),
        other.waitForEnd(theirs),
      ]);
    });
  });

  it('get_usage says what to do next without a plan or with too few credits, and nothing otherwise', async () => {
    const [subscriber, visitor, poor] = [
      await service.createCustomer('lite'),
      await service.createCustomer(null),
      await service.createCustomer('lite'),
    ];
    await seedImages(service, poor, 195);
    const nexts = [];
    for (const customer of [subscriber, visitor, poor]) {
      const assistant = await connectMcpClient(customer);
      await assistant.client.listTools();
      const { structuredContent, content } = await assistant.client.callTool({ name: 'get_usage', arguments: {} });
      nexts.push(structuredContent.next);
      expect(content[0].text).to.include(structuredContent.next ?? '');
      await assistant.close();
    }
    expect(nexts[0]).to.equal(undefined);
    expect(nexts[1]).to.match(/^No active subscription: .*\/account\/billing\//);
    expect(nexts[2]).to.match(/^The balance covers no generation: .*\/account\/billing\//);
  });

  it('no URL in a text is directly followed by a full stop', async () => {
    const poor = await service.createCustomer('lite');
    await seedImages(service, poor, 195);
    for (const customer of [await service.createCustomer(null), poor]) {
      const assistant = await connectMcpClient(customer);
      const texts: string[] = [assistant.client.getInstructions()];
      for (const call of [
        { name: 'generate_image', arguments: IMAGE },
        { name: 'get_usage', arguments: {} },
      ])
        texts.push((await assistant.client.callTool(call)).content[0].text);
      for (const text of texts) expect(text).to.match(/http\S+\/account\/billing\/ /);
      await assistant.close();
    }
  });

  for (const name of ['sdk1', 'sdk2']) {
    it(`${name}.mjs of docs/agent-frameworks.md lists the tools and calls one`, async () => {
      const customer = await service.createCustomer('pro');
      const { baseUrl } = service;
      const guide = new ExecutableDocument('docs/agent-frameworks.md', { baseUrl, key: customer.key });
      // The packages of the project are beside it.
      const file = join(requireTestEnv('TEST_FOLDER'), `${name}.mjs`);
      await writeFile(file, guide.findFile(`${name}.mjs`));
      const env = { GENMETER_URL: baseUrl, GENMETER_KEY: customer.key };
      const { status, out, err } = await runProgram({ args: [file], env });
      expect(status, err).to.equal(0);
      const [tools = '', balance] = out.trim().split(' ');
      expect(tools.split(',')).to.have.members(TOOLS);
      expect(balance).to.equal(String(await customer.balance()));
    });
  }

  it('a key that is revoked during the wait does not hide that a generation was created', async () => {
    service.upstream.outcome = 'wait';
    const customer = await service.createCustomer('pro');
    const assistant = await connectMcpClient(customer);
    const prompt = `revoked ${randomUUID()}`;
    const waiting = assistant.client.callTool({
      name: 'generate_image',
      arguments: { ...IMAGE, prompt, wait_seconds: 30 },
    });
    await eventually('submitted', () => service.upstream.jobsFor(prompt).length === 1);
    const { body } = await customer.request('GET', '/api/keys/');
    const revoked = await customer.requestWithSession('POST', `/api/keys/${body.data[0].uuid}/revoke/`);
    expect(revoked.status).to.be.oneOf([200, 204]);
    const revokedAt = performance.now();
    const { isError, structuredContent } = await waiting;
    expect(performance.now() - revokedAt).to.be.below(15_000);
    expect([isError ?? false, structuredContent.status, structuredContent.credits_charged]).to.deep.equal([
      false,
      'queued',
      8,
    ]);
    service.upstream.end(prompt, 'succeeded');
    await assistant.close().catch(() => {});
  });
});

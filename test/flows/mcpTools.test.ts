import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { describeWithClients } from '../harness/mcpClient.ts';
import { useTestService } from '../harness/testService.ts';

const MISSING = randomUUID();

describe('MCP tools', () => {
  const service = useTestService();
  beforeEach(() => {
    service.upstream.outcome = 'succeed';
  });

  describeWithClients({ getService: () => service, plan: 'studio' }, (connected) => {
    const { use } = connected;

    it('tools/list returns five tools with titles, icons, annotations and schemas', async () => {
      const { tools } = await connected.client.listTools();
      expect(tools.map((tool: any) => tool.name)).to.deep.equal([
        'generate_image',
        'generate_video',
        'get_generation',
        'list_library',
        'get_usage',
      ]);
      for (const tool of tools) {
        expect(tool.title).to.be.a('string');
        expect(tool.icons[0].src).to.match(/^data:image\/svg\+xml;base64,/);
        expect(tool.annotations.readOnlyHint).to.equal(!tool.name.startsWith('generate_'));
        expect(tool.annotations.destructiveHint).to.equal(false);
        expect(JSON.stringify(tool.inputSchema)).not.to.match(/trimmed|"text"/);
      }
      const [image, video] = tools;
      expect(image.inputSchema.required).to.have.members(['prompt', 'resolution']);
      expect(video.inputSchema.required).to.have.members(['prompt', 'duration', 'resolution']);
      expect(video.inputSchema.properties.duration).to.deep.include({ type: 'integer', enum: [5, 10] });
      expect(video.inputSchema.properties.audio.default).to.equal(false);
      expect(video.inputSchema.properties.aspect_ratio.default).to.equal('16:9');
      expect(image.inputSchema.properties.aspect_ratio.default).to.equal('1:1');
    });

    it('generate_image charges 8 credits and returns a uuid, and get_generation names each address once', async () => {
      const prompt = `a lighthouse ${randomUUID()}`;
      const created = await use('generate_image', { prompt, resolution: '1K' });
      const { uuid } = created.structuredContent;
      expect(created.isError ?? false).to.equal(false);
      expect(created.content[0].text)
        .to.include(uuid)
        .and.match(/\b8 credits/);
      expect(created.structuredContent).to.deep.include({ status: 'queued', credits_charged: 8, output_url: null });
      expect(created.structuredContent.params).to.deep.equal({ resolution: '1K', aspect_ratio: '1:1' });

      const ended = await use('get_generation', { uuid, wait_seconds: 30 });
      expect(ended.structuredContent.status).to.equal('succeeded');
      const { output_url: url, thumbnail_url: thumbnailUrl } = ended.structuredContent;
      for (const [part, counts] of [
        [ended.content, [1, 0]],
        [ended.structuredContent, [1, 1]],
      ] as const) {
        const found = [url, thumbnailUrl].map((address) => JSON.stringify(part).split(address).length - 1);
        expect(found).to.deep.equal(counts);
      }
      expect(JSON.stringify(ended)).not.to.include('base64');
      const { next, ...generation } = ended.structuredContent;
      expect(generation).to.deep.equal((await connected.customer.readGeneration(uuid)).body);
      expect(created.structuredContent.next).to.match(/get_generation.*wait_seconds 45/);
      expect(next).to.match(/output_url/);
    });

    it('generate_video with wait_seconds reports a failure with its reason and the refund', async () => {
      service.upstream.outcome = 'fail';
      const before = await connected.customer.balance();
      const video = { prompt: 'waves', duration: 5, resolution: '720p', wait_seconds: 30 };
      const { isError, structuredContent, content } = await use('generate_video', video);
      expect([isError ?? false, structuredContent.status]).to.deep.equal([false, 'failed']);
      expect(content[0].text)
        .to.include(structuredContent.error_message)
        .and.match(/35 credits were refunded/);
      expect(content).to.have.length(1);
      expect(await connected.customer.balance()).to.equal(before);
    });

    it('list_library returns the same generations as REST with fewer fields', async () => {
      const listed = await use('list_library');
      const { body } = await connected.customer.request('GET', '/api/generations/');
      const { pagination, data } = listed.structuredContent;
      expect(body.pagination).to.deep.include(pagination);
      expect(data.map(({ uuid }: any) => uuid)).to.deep.equal(body.data.map(({ uuid }: any) => uuid));
      data.forEach((item: any, index: number) => expect(body.data[index]).to.deep.include(item));
      const always = ['uuid', 'kind', 'status', 'prompt', 'credits_charged', 'created_at'];
      const byStatus: Record<string, string[]> = { succeeded: ['output_url'], failed: ['error_message'], queued: [] };
      for (const item of data) expect(item).to.have.all.keys(...always, ...(byStatus[item.status] ?? []));
      expect(listed.structuredContent.next).to.match(/get_generation/);
      for (const { uuid } of listed.structuredContent.data) expect(listed.content[0].text).to.include(uuid);
      const past = await use('list_library', { page: 9 });
      expect(past.structuredContent.data).to.deep.equal([]);
      expect(past.structuredContent.next).to.equal('There is no page 9: the last one is 1.');
    });

    it('get_usage returns the same figures as the usage summary', async () => {
      const usage = await use('get_usage');
      const { body } = await connected.customer.request('GET', '/api/usage/summary/');
      const { plan, credits, credits_by_day: days, ...rest } = usage.structuredContent;
      expect(body.plan).to.deep.include(plan);
      expect(body.credits).to.deep.include(credits);
      const periodFields = ['balance', 'used_this_period', 'granted_this_period', 'rollover', 'period_end'];
      expect(credits).to.have.all.keys(...periodFields);
      expect(rest).to.deep.equal({ jobs: body.jobs, by_model: body.by_model });
      for (const { date, credits_used: used } of body.history) expect(days[date] ?? 0, date).to.equal(used);
      expect(Object.values(days)).to.have.length.above(0).and.not.include(0);
      expect(usage.content[0].text).to.include(`${usage.structuredContent.credits.balance} credits`);
    });

    it('get_generation reports progress while it waits and returns as soon as the generation ends', async () => {
      service.upstream.outcome = 'wait';
      const prompt = `slow ${randomUUID()}`;
      const { structuredContent } = await use('generate_image', { prompt, resolution: '1K' });
      const reports: any[] = [];
      const waiting = use(
        'get_generation',
        { uuid: structuredContent.uuid, wait_seconds: 45 },
        {
          onprogress: (progress: any) => {
            reports.push(progress);
            if (reports.length === 2) service.upstream.end(prompt, 'succeeded');
          },
        },
      );
      expect((await waiting).structuredContent.status).to.equal('succeeded');
      expect(reports.length).to.be.at.least(2);
      const amounts = reports.map(({ progress }) => progress);
      expect(amounts).to.deep.equal([...new Set(amounts)].sort((a, b) => a - b));
      expect(reports[0]).to.deep.include({ progress: 0, total: 45 });
    });

    it('tools return errors of the service as tool errors with the codes of REST', async () => {
      const image = { prompt: 'x', resolution: '1K' };
      const rejections: [tool: string, args: object, detail: RegExp, code?: string][] = [
        ['generate_image', { prompt: 'x' }, /^resolution is required/],
        ['generate_image', { prompt: 'x', resolution: '8K' }, /resolution must be one of/],
        ['generate_image', { ...image, wait_seconds: -1 }, /^wait_seconds must be/],
        ['generate_image', { ...image, wait_seconds: 46 }, /^wait_seconds must be/],
        ['generate_image', { ...image, wait_seconds: 1.5 }, /^wait_seconds must be/],
        ['generate_image', { ...image, wait_seconds: '5' }, /^wait_seconds must be/],
        ['generate_video', { prompt: '', duration: 5, resolution: '720p' }, /^prompt/],
        ['generate_video', { prompt: 'x', duration: 7, resolution: '720p' }, /^duration/],
        ['get_generation', { uuid: MISSING }, /has no generation with that UUID/, 'not_found'],
        ['get_generation', { uuid: 'none' }, /has no generation with that UUID/, 'not_found'],
        ['get_generation', { uuid: MISSING, wait_seconds: 46 }, /wait_seconds must be at most 45/],
        ['list_library', { page: 0 }, /page must be at least 1/],
        ['list_library', { status: 'done' }, /^status must be one of: queued, succeeded, failed\.$/],
        ['list_library', { kind: 'audio' }, /^kind must be one of/],
        ['list_library', { created_after: 'yesterday' }, /^created_after must be a date/],
        ['list_library', { created_before: 5 }, /^created_before must be a string/],
        ['list_library', { state: 'queued' }, /^state is not a known field/],
        ['list_library', { metadata: 'a' }, /^metadata must be an array/],
        ['list_library', { metadata: [{ key: 'a', value: 1 }] }, /^metadata.0.value must be a string/],
      ];
      for (const [tool, args, detail, code = 'validation_error'] of rejections) {
        const { isError, structuredContent, content } = await use(tool, args);
        expect([isError, structuredContent.error], JSON.stringify(args)).to.deep.equal([true, code]);
        expect(structuredContent.detail).to.match(detail);
        // Advice for the model may follow the detail.
        expect(content[0].text.startsWith(`${code}: ${structuredContent.detail}`)).to.equal(true);
      }
    });

    it('resources/list and resources/read return the library', async () => {
      const { resourceTemplates } = await connected.client.listResourceTemplates();
      expect(resourceTemplates[0].uriTemplate).to.equal('generation://{uuid}');
      const { resources } = await connected.client.listResources();
      const [{ uri }] = resources;
      const { contents } = await connected.client.readResource({ uri });
      const uuid = uri.replace('generation://', '');
      expect(JSON.parse(contents[0].text)).to.deep.equal((await connected.customer.readGeneration(uuid)).body);
      const error = await connected.client.readResource({ uri: `generation://${MISSING}` }).then(
        () => undefined,
        (thrown: any) => thrown,
      );
      expect(error?.code).to.be.oneOf([-32_002, -32_602]);
    });
  });
});

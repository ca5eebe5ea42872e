import { expect } from 'chai';
import { useTestService } from '../harness/testService.ts';
import { UUID } from '../harness/errorEnvelope.ts';
import { setAllModelsOnline, setModelHealth } from '../harness/seeds.ts';

describe('models', () => {
  const service = useTestService({ workers: 0 });

  const statuses = async () => {
    const { body } = await service.request('GET', '/api/models/');
    return Object.fromEntries(body.data.map((model: { slug: string; status: string }) => [model.slug, model.status]));
  };

  it('lists the two models publicly, with their accepted values', async () => {
    await setAllModelsOnline(service);
    const { status, body } = await service.request('GET', '/api/models/');
    expect(status).to.equal(200);
    expect(body.pagination).to.deep.equal({
      next: null,
      previous: null,
      current_page: 1,
      total_pages: 1,
      total_items: 2,
    });
    const described = body.data.map(({ uuid, description, provider, ...rest }: Record<string, string>) => {
      expect(uuid).to.match(UUID);
      expect(description).to.be.a('string').with.length.above(0);
      expect(provider).to.be.a('string').with.length.above(0);
      return rest;
    });
    expect(described).to.deep.equal([
      {
        slug: 'vidmodel-video',
        name: 'Video model',
        kind: 'video',
        credits_base: 35,
        status: 'online',
        sort_order: 1,
        params_schema: {
          durations: [5, 10],
          resolutions: ['720p', '1080p'],
          audio: true,
          aspect_ratios: ['16:9', '9:16'],
        },
      },
      {
        slug: 'imgmodel-2',
        name: 'Image model',
        kind: 'image',
        credits_base: 8,
        status: 'online',
        sort_order: 2,
        params_schema: { resolutions: ['1K', '2K', '4K'], aspect_ratios: ['16:9', '1:1', '9:16'] },
      },
    ]);
  });

  it('shows each model as online, degraded or offline, from live health checks', async () => {
    await setAllModelsOnline(service);
    await setModelHealth(service, 'imgmodel-2', 'degraded');
    expect(await statuses()).to.deep.equal({ 'vidmodel-video': 'online', 'imgmodel-2': 'degraded' });
    await setModelHealth(service, 'vidmodel-video', 'offline');
    expect(await statuses()).to.deep.equal({ 'vidmodel-video': 'offline', 'imgmodel-2': 'degraded' });
  });

  it('shows a model as offline if no worker has probed it for 45 seconds, or ever', async () => {
    await setModelHealth(service, 'vidmodel-video', 'online', 46);
    await service.sql(`DELETE FROM upstream_health WHERE model = 'imgmodel-2'`);
    expect(await statuses()).to.deep.equal({ 'vidmodel-video': 'offline', 'imgmodel-2': 'offline' });
  });

  it('needs no credentials and ignores invalid ones', async () => {
    const response = await service.request('GET', '/api/models/', { headers: { authorization: 'Bearer nonsense' } });
    expect(response.status).to.equal(200);
  });
});

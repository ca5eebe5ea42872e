import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { PNG } from '../fakes/misbehave.ts';
import { FakeBlackForestLabs } from '../fakes/providers/blackForestLabs.ts';
import { FakeDiffusers } from '../fakes/providers/diffusers.ts';
import { FakeStability } from '../fakes/providers/stability.ts';
import { runAdminInProcess } from '../harness/adminCommand.ts';
import { startTestService, type TestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

/** A key that is escaped in JSON. */
const QUOTED_KEY = 'key "of\\the test';

describe('npm run admin -- try-upstream', () => {
  const [flux, stability, gpu] = [new FakeBlackForestLabs(), new FakeStability(), new FakeDiffusers()];
  let service: TestService;
  const folder = useFolder();
  before(async () => {
    await Promise.all([flux.start(), stability.start(), gpu.start()]);
    const own = { adapter: 'http', key: flux.key, local: true };
    const upstreams = {
      bfl: { ...own, provider: 'black-forest-labs', base_url: `${flux.url}/v1` },
      quoted: { ...own, key: QUOTED_KEY, provider: 'black-forest-labs', base_url: `${flux.url}/v1` },
      stability: { ...own, provider: 'stability', base_url: stability.url },
      gpu: { ...own, provider: 'diffusers', base_url: gpu.url },
    };
    service = await startTestService({
      workers: 0,
      spawn: 'all',
      env: { UPSTREAMS: JSON.stringify({ upstreams }), IMAGE_UPSTREAM: 'bfl:flux-2-pro' },
    });
  });
  after(async () => {
    await service.stop();
    await Promise.all([flux.stop(), stability.stop(), gpu.stop()]);
  });
  beforeEach(() => {
    flux.reset();
    stability.reset();
    gpu.reset();
  });

  const run = (...args: string[]) => runAdminInProcess(['try-upstream', ...args], service.env);

  it('shows the request of a dry run, without the key, and sends nothing', async () => {
    const { status, out, err } = await run('bfl:flux-2-pro', '--prompt', 'a lighthouse', '--dry-run');
    expect([status, err]).to.deep.equal([0, '']);
    expect(out).to.include(`> POST ${flux.url}/v1/flux-2-pro\n`);
    expect(out).to.include('> x-key: ***\n');
    expect(out).to.include('"prompt": "a lighthouse"');
    expect(out).to.include('Nothing was sent');
    expect(out).to.not.include(flux.key);
    expect(flux.calls).to.deep.equal([]);
  });

  it('shows no part of a key in a text that is cut, and no key that JSON escapes', async () => {
    const args = ['quoted:flux-2-pro', '--kind', 'image', '--params', '{"aspect_ratio":"1:1","resolution":"1K"}'];
    for (const padding of [0, 290]) {
      const prompt = `${'x'.repeat(padding)}${QUOTED_KEY}`;
      const { status, out } = await run(...args, '--prompt', prompt, '--dry-run');
      expect([status, out.includes('key ')], out).to.deep.equal([0, false]);
      expect(out).to.include(`"prompt": "${'x'.repeat(padding)}***"`);
    }
    const body = JSON.stringify({ detail: `${'x'.repeat(290)}${flux.key}` });
    flux.faults.submit = { status: 400, headers: { 'content-type': 'application/json' }, body };
    const { out } = await run('bfl:flux-2-pro', '--prompt', 'p');
    expect(out).to.include('x***"').and.not.include('key-of');
  });

  it('follows a run to its file, and prints each step', async () => {
    const output = join(folder, 'flux.png');
    const { status, out } = await run('bfl:flux-2-pro', '--prompt', 'a lighthouse', '--output', output);
    expect(status).to.equal(0);
    const id = flux.jobs[0]?.id;
    const steps = [
      `> POST ${flux.url}/v1/flux-2-pro`,
      '< 200 application/json',
      `> GET ${flux.url}/v1/get_result?id=${id}&region=eu2`,
      '"status":"Ready"',
      '= price: 3 cents',
      '= valid for 600 seconds',
      `> GET ${flux.url}/results/${id}/sample.png?sig=signed`,
      '= succeeded: image/png',
      `Written to ${output}.`,
    ];
    let at = 0;
    for (const step of steps) {
      at = out.indexOf(step, at);
      expect(at, `${step} in ${out}`).to.be.above(-1);
    }
    expect(await readFile(output)).to.deep.equal(PNG);
    expect(out).to.not.include(flux.key);
    expect(flux.jobs).to.have.length(1);
  });

  it('polls again after a poll that failed, since the run is paid for', async () => {
    flux.faults.status = 503;
    const later = setTimeout(() => (flux.faults.status = undefined), 3_000);
    const { out } = await run('bfl:flux-2-pro', '--prompt', 'a lighthouse');
    clearTimeout(later);
    expect(out).to.include('= unavailable, will poll again: The upstream returned status 503.');
    expect(out).to.include('= succeeded: image/png');
    expect(flux.jobs).to.have.length(1);
  });

  it('tries a model that the catalog does not have, whose response is the file', async () => {
    const params = '{"aspect_ratio":"16:9"}';
    const { status, out } = await run('stability:core', '--prompt', 'p', '--kind', 'image', '--params', params);
    expect([status, out.includes('= succeeded: image/png')]).to.deep.equal([0, true]);
    expect(out).to.include('> authorization: ***').and.include('> aspect_ratio: 16:9');
    expect(out).to.not.include(stability.key);
  });

  it('sends images, with their content or as addresses that contain it', async () => {
    const file = join(folder, 'start.png');
    await writeFile(file, PNG);
    const sent = await run(
      'gpu:flux',
      '--prompt',
      'p',
      '--kind',
      'image',
      '--params',
      '{"aspect_ratio":"1:1"}',
      '--image',
      `reference=${file}`,
    );
    expect([sent.status, sent.out.includes('= succeeded: image/png')], sent.out).to.deep.equal([0, true]);
    expect(gpu.jobs.map(({ input }) => input['images'])).to.deep.equal([[PNG.toString('base64')]]);
    expect(sent.out).to.include(`(base64 of ${PNG.length} bytes, image/png)`);
    const params = '{"aspect_ratio":"1:1","resolution":"1K"}';
    const images = ['--image', `reference=${file}`, `reference=${file}`, '--params', params];
    const shown = await run('bfl:flux-kontext', '--kind', 'image', '--prompt', 'p', '--dry-run', ...images);
    expect(shown.out).to.include('"input_image": "data:image/png;base64,').and.include('"input_image_2": "data:');
    expect(flux.calls).to.deep.equal([]);
  });

  it('prints why a run was not accepted, or failed', async () => {
    stability.rejectsPrompts = true;
    const args = ['--prompt', 'p', '--kind', 'image', '--params', '{"aspect_ratio":"1:1"}'];
    const rejected = await run('stability:core', ...args);
    expect(rejected.out).to.include('content_moderation').and.include('= rejected: ');
    flux.outcome = 'failed';
    const failed = await run('bfl:flux-2-pro', '--prompt', 'p');
    expect(failed.out).to.include('= failed: The model ran out of luck.');
    flux.reset();
    flux.faults.file = { status: 200, headers: { 'content-type': 'image/png' }, body: 'no image' };
    const unusable = await run('bfl:flux-2-pro', '--prompt', 'p');
    expect([unusable.status, unusable.out.includes('= invalid output: ')]).to.deep.equal([0, true]);
    flux.reset();
    flux.faults.submit = 401;
    expect((await run('bfl:flux-2-pro', '--prompt', 'p')).out).to.include('= unavailable: ');
  });

  it('leaves no file behind', async () => {
    expect(await readdir(join(service.env['MEDIA_DIR'] as string, '.incoming'))).to.deep.equal([]);
  });

  it('exits with 2 if the trial cannot begin', async () => {
    const textFile = join(folder, 'notes.txt');
    await writeFile(textFile, 'no image');
    for (const [args, problem] of [
      [['stability:core', '--prompt', 'p'], 'choose --kind image or video.'],
      [['acme:x', '--prompt', 'p', '--kind', 'image'], 'must begin with the name of an upstream and a colon.'],
      [['stability:core', '--prompt', 'p', '--kind', 'video'], 'The description of stability makes no videos.'],
      [['stability:core', '--prompt', 'p', '--kind', 'image'], 'nknown variable "aspect_ratio"'],
      [['bfl:flux-2-pro'], '--prompt is required.'],
      [['bfl:flux-2-pro', '--prompt', 'p', '--params', '[]'], '--params must be a JSON object'],
      [['bfl:flux-2-pro', '--prompt', 'p', '--kind', 'sound'], '--kind must be image or video.'],
      [
        ['bfl:flux-2-pro', '--prompt', 'p', '--image', 'start.png'],
        '--image must be role=file, with one of first_frame,',
      ],
      [['bfl:flux-2-pro', '--prompt', 'p', '--image', 'reference=/nowhere.png'], '--image cannot be read: ENOENT'],
      [
        ['bfl:flux-2-pro', '--prompt', 'p', '--image', `reference=${textFile}`],
        '--image must be a PNG, JPEG or WebP file',
      ],
      [
        ['bfl:flux-2-pro', '--prompt', 'p', '--image', `reference=${join(folder, 'start.png')}`],
        'The model imgmodel-2 takes no reference.',
      ],
    ] as const) {
      const { status, err } = await run(...args);
      expect([status, err.includes(problem)], err).to.deep.equal([2, true]);
    }
  });
});

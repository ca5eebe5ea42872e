import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { PNG } from '../fakes/misbehave.ts';
import { FakeBlackForestLabs } from '../fakes/providers/blackForestLabs.ts';
import { FakeStability } from '../fakes/providers/stability.ts';
import { runAdminInProcess } from '../harness/adminCommand.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('npm run admin -- try-upstream', () => {
  const [flux, stability] = [new FakeBlackForestLabs(), new FakeStability()];
  let service: TestService;
  let folder: string;
  before(async () => {
    await Promise.all([flux.start(), stability.start()]);
    folder = await mkdtemp(join(tmpdir(), 'genmeter-try-'));
    const own = { adapter: 'http', key: flux.key, local: true };
    const upstreams = {
      bfl: { ...own, provider: 'black-forest-labs', base_url: `${flux.url}/v1` },
      stability: { ...own, provider: 'stability', base_url: stability.url },
    };
    service = await startTestService({
      workers: 0,
      spawn: 'all',
      env: { UPSTREAMS: JSON.stringify({ upstreams }), IMAGE_UPSTREAM: 'bfl:flux-2-pro' },
    });
  });
  after(async () => {
    await service.stop();
    await Promise.all([flux.stop(), stability.stop()]);
    await rm(folder, { recursive: true });
  });
  beforeEach(() => {
    flux.reset();
    stability.reset();
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

  it('tries a model that the catalog does not have, whose response is the file', async () => {
    const params = '{"aspect_ratio":"16:9"}';
    const { status, out } = await run('stability:core', '--prompt', 'p', '--kind', 'image', '--params', params);
    expect([status, out.includes('= succeeded: image/png')]).to.deep.equal([0, true]);
    expect(out).to.include('> authorization: ***').and.include('> aspect_ratio: 16:9');
    expect(out).to.not.include(stability.key);
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
    for (const [args, problem] of [
      [['stability:core', '--prompt', 'p'], 'choose --kind image or video.'],
      [['acme:x', '--prompt', 'p', '--kind', 'image'], 'must begin with the name of an upstream and a colon.'],
      [['stability:core', '--prompt', 'p', '--kind', 'video'], 'The description of stability makes no videos.'],
      [['stability:core', '--prompt', 'p', '--kind', 'image'], 'nknown variable "aspect_ratio"'],
      [['bfl:flux-2-pro'], '--prompt is required.'],
      [['bfl:flux-2-pro', '--prompt', 'p', '--params', '[]'], '--params must be a JSON object'],
      [['bfl:flux-2-pro', '--prompt', 'p', '--kind', 'sound'], '--kind must be image or video.'],
    ] as const) {
      const { status, err } = await run(...args);
      expect([status, err.includes(problem)], err).to.deep.equal([2, true]);
    }
  });
});

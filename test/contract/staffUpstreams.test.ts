import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { DELETE_MEDIA } from '../../shared/domain/generations/mediaDeletions.ts';
import { OPEN_TRIALS_MAX, RUN_TRIAL } from '../../shared/domain/upstreams/trials.ts';
import { DAY_MS } from '../../shared/spec/durations.ts';
import { PNG } from '../fakes/misbehave.ts';
import { FakeStability } from '../fakes/providers/stability.ts';
import { pruneTable } from '../harness/pruneTable.ts';
import { REASON, StaffConsole } from '../harness/staffConsole.ts';
import { runTasks } from '../harness/tasks.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const PATH = '/admin/upstreams/';

const readRow = (text: string, upstream: string) =>
  text.split('<tr>').find((row) => row.includes(`<td>${upstream}</td>`)) ?? '';

describe('the upstreams page of staff', () => {
  const console = new StaffConsole();
  const fake = new FakeStability();
  let service: TestService;
  before(async () => {
    await fake.start();
    const own = { adapter: 'http', local: true };
    const stability = { ...own, provider: 'stability', base_url: fake.url, key: fake.key, concurrency: 3 };
    service = await startTestService({
      workers: 0,
      env: {
        STAFF_EMAILS: console.staffEmails,
        UPSTREAMS: JSON.stringify({ upstreams: { stability } }),
        IMAGE_UPSTREAM: 'fal:owner/image',
        IMAGE_UPSTREAM_FALLBACK: 'stability:core',
      },
    });
    await console.open(service);
  });
  after(async () => {
    await service.stop();
    await fake.stop();
  });

  it('lists the choices of each model with their health and limits, for every role', async () => {
    await service.sql(
      `INSERT INTO upstream_health (model, position, upstream, status, consecutive_failures, consecutive_successes, probed_at, detail)
       VALUES ('imgmodel-2', 1, 'stability:core', 'offline', 3, 0, $1, 'refused')
       ON CONFLICT (model, position) DO UPDATE SET upstream = excluded.upstream, status = excluded.status, probed_at = excluded.probed_at`,
      [service.now],
    );
    const { status, text } = await console.visit(PATH, 'support');
    expect(status).to.equal(200);
    const row = readRow(text, 'stability:core');
    expect(row).to.include('fallback 1').and.include('offline').and.include('3 at a time');
    expect(row).to.include(new URL(fake.url).host).and.include('<td>http</td>');
    expect(readRow(text, 'fal:owner/image')).to.include('first choice').and.include('not checked');
    expect(text).to.not.include('Try an upstream');
    expect(text).to.not.include(fake.key);
  });

  const showRequest = (query: Record<string, string>, role: 'ops' | 'support') =>
    console.visit(`${PATH}?${new URLSearchParams(query).toString()}`, role);

  it('shows the request that an upstream would receive, without its key, and sends nothing', async () => {
    const { status, text } = await showRequest({ upstream: 'stability:core', prompt: 'a <lighthouse>' }, 'ops');
    expect(status).to.equal(200);
    expect(text).to.include(`> POST ${fake.url}/v2beta/stable-image/generate/core`);
    expect(text).to.include('> authorization: ***').and.include('> prompt: a &lt;lighthouse>');
    expect(text).to.not.include(fake.key);
    expect(fake.calls).to.deep.equal([]);
  });

  it('explains what is wrong with a request, and shows none to a role that must not send one', async () => {
    const empty = await showRequest({ upstream: 'stability:core', prompt: ' ' }, 'ops');
    expect([empty.status, empty.text.includes('Enter a prompt.')]).to.deep.equal([400, true]);
    const unknown = await showRequest({ upstream: 'acme:x', prompt: 'p' }, 'ops');
    expect([unknown.status, unknown.text.includes('Choose an upstream of the list.')]).to.deep.equal([404, true]);
    const support = await showRequest({ upstream: 'stability:core', prompt: 'p' }, 'support');
    expect([support.status, support.text.includes('> POST')]).to.deep.equal([200, false]);
  });

  const readTrialForm = () => {
    const query = new URLSearchParams({ upstream: 'stability:core', prompt: 'a "lighthouse" & <tower' });
    return console.readForm(PATH, 'ops', `${PATH}?${query.toString()}`);
  };

  const sendTrial = async () => {
    const form = await readTrialForm();
    const { status, headers } = await console.send(PATH, form, { role: 'ops' });
    const path = headers.get('location') ?? '';
    expect([status, path]).to.deep.equal([303, `${PATH}trials/${form['request']}/`]);
    return { form, path };
  };

  describe('a trial', () => {
    beforeEach(async () => {
      fake.reset();
      await service.sql('DELETE FROM tasks');
      await service.sql('DELETE FROM upstream_trials');
    });
    afterEach(() => service.moveClockTo(new Date()));

    it('is sent once by a worker, and its page shows each step and the file', async () => {
      const { form, path } = await sendTrial();
      const waiting = await console.visit(path, 'ops');
      expect(waiting.text).to.include('waiting for a worker').and.include(`data-reload-to="${path}"`);
      expect(fake.calls).to.deep.equal([]);

      await console.send(PATH, form, { role: 'ops' });
      await runTasks(RUN_TRIAL);
      expect(fake.calls).to.have.length(1);
      const { text } = await console.visit(path, 'ops');
      expect(text).to.include('succeeded').and.include('&amp; &lt;tower').and.not.include('data-reload-to');
      expect(text).to.include(`> POST ${fake.url}/v2beta/stable-image/generate/core`).and.include('&lt; 200');
      expect(text).to.not.include(fake.key);
      const [, address = ''] = /<img class="preview" src="([^"]+)"/.exec(text) ?? [];
      const file = await fetch(address);
      expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(PNG);
      expect((await console.visit(PATH, 'ops')).text).to.include(`<a href="${path}">`);
      const entries = await service.sql(`SELECT target_id, reason FROM audit_entries WHERE action = 'upstream.try'`);
      expect(entries).to.deep.equal([{ target_id: 'stability:core', reason: REASON }]);
    });

    it('that the upstream rejects ends without a file', async () => {
      fake.rejectsPrompts = true;
      const { path } = await sendTrial();
      await runTasks(RUN_TRIAL);
      const { text } = await console.visit(path, 'ops');
      expect(text).to.include('failed').and.include('&lt; 403').and.include('No output.');
    });

    it('whose worker died is not sent again', async () => {
      const { path } = await sendTrial();
      await service.sql('UPDATE upstream_trials SET started_at = $1', [service.now]);
      await runTasks(RUN_TRIAL);
      expect(fake.calls).to.deep.equal([]);
      expect((await console.visit(path, 'ops')).text)
        .to.include('= interrupted')
        .and.include('failed');
    });

    it('must wait while others are open', async () => {
      for (let open = 0; open < OPEN_TRIALS_MAX; open += 1) await sendTrial();
      const { status, text } = await console.send(PATH, await readTrialForm(), { role: 'ops' });
      expect([status, text.includes('trials are in progress')]).to.deep.equal([429, true]);
      expect(text).to.include('> POST');
      await runTasks(RUN_TRIAL);
      await sendTrial();
    });

    it('is refused for another upstream than those of the list', async () => {
      const form = { ...(await readTrialForm()), upstream: 'acme:x', request: randomUUID() };
      const { status } = await console.send(PATH, form, { role: 'ops' });
      expect(status).to.equal(404);
      expect(await service.sql('SELECT 1 FROM upstream_trials')).to.deep.equal([]);
    });

    it('is deleted with its file after 7 days', async () => {
      const { path } = await sendTrial();
      await runTasks(RUN_TRIAL);
      const [{ output_path: output }] = await service.sql('SELECT output_path FROM upstream_trials');
      const address = `${service.env['CDN_URL'] ?? `${service.baseUrl}/media`}/${output}`;
      expect((await fetch(address)).status).to.equal(200);
      await service.moveClockTo(new Date(service.now.getTime() + 7 * DAY_MS + 1_000));
      await pruneTable('upstream_trials');
      await runTasks(DELETE_MEDIA);
      expect((await fetch(address)).status).to.equal(404);
      expect(await service.sql('SELECT 1 FROM upstream_trials')).to.deep.equal([]);
      expect(path).to.be.a('string');
    });
  });
});

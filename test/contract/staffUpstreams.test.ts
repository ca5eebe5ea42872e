import { expect } from 'chai';
import { FakeStability } from '../fakes/providers/stability.ts';
import { StaffConsole } from '../harness/staffConsole.ts';
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
    const stability = { adapter: 'http', provider: 'stability', base_url: fake.url, key: fake.key, concurrency: 3 };
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
    expect(text).to.not.include('Show a request');
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
});

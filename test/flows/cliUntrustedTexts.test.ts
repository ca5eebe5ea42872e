import { mkdirSync, readdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { HttpFake } from '../fakes/httpFake.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';
import { useFolder } from '../harness/useFolder.ts';

/** Clears the screen, sets the title of the window, and starts a line of its own, in both forms of control codes. */
const CONTROLS = 'x\u001b[2J\u001b]0;title\u0007\u009b1m\r\ny';
const FOLDERS = '../../outside';

/** A service whose texts contain control characters and folders. */
class ForeignService extends HttpFake {
  status: 'queued' | 'succeeded' | 'failed' = 'succeeded';
  uuid = CONTROLS;

  #describe(): object {
    return {
      uuid: this.uuid,
      status: this.status,
      kind: 'image',
      model: CONTROLS,
      prompt: CONTROLS,
      params: { [CONTROLS]: CONTROLS },
      metadata: { [CONTROLS]: CONTROLS },
      credits_charged: 8,
      created_at: new Date(0).toISOString(),
      completed_at: new Date().toISOString(),
      error_message: this.status === 'failed' ? CONTROLS : null,
      output_url: this.status === 'succeeded' ? `${this.url}/output.png` : null,
    };
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url as string;
    if (path.startsWith('/output')) response.end('picture');
    else if (path.startsWith('/api/keys/create/')) response.end(JSON.stringify({ key: CONTROLS }));
    else if (path.startsWith('/api/generations/?'))
      response.end(JSON.stringify({ data: [this.#describe()], pagination: { next: null } }));
    else if (path.includes('missing')) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'not_found', detail: CONTROLS }));
    } else {
      response.end(JSON.stringify(this.#describe()));
      // The next read of a wait.
      if (this.status === 'queued') this.status = 'failed';
    }
  }
}

describe('texts of a service that the command line prints or uses', () => {
  const service = new ForeignService();
  const folder = useFolder({ isCleared: true });

  before(() => service.start());
  after(() => service.stop());
  beforeEach(() => {
    service.status = 'succeeded';
    service.uuid = CONTROLS;
  });

  const createTerminal = () =>
    new TestTerminal({ XDG_CONFIG_HOME: folder, GENMETER_URL: service.url, GENMETER_KEY: `svc_${'0'.repeat(40)}` });

  it('do not control the terminal', async () => {
    for (const [status, ...args] of [
      ['succeeded', 'get', 'one'],
      ['succeeded', 'get', 'one', '-o', join(folder, 'picture.png')],
      ['failed', 'get', 'one', '--wait'],
      ['queued', 'get', 'one', '--wait'],
      ['queued', 'cancel', 'one'],
      ['succeeded', 'list', '--limit', '1'],
      ['succeeded', 'keys', 'create', 'name'],
      ['succeeded', 'get', 'missing'],
    ] as const) {
      service.status = status;
      const terminal = createTerminal();
      const { stdout, stderr } = await terminal.run(...args);
      const printed = [stdout, stderr, ...terminal.progressLines].join('');
      expect(printed, args.join(' ')).to.include('x [2J');
      expect(printed.replaceAll('\n', ''), args.join(' ')).to.not.match(/\p{Cc}/u);
      // No line begins with a text of the service.
      expect(printed, args.join(' ')).to.not.match(/^y/m);
    }
  });

  it('are JSON without a hint beside it with --json', async () => {
    service.status = 'queued';
    expect((await createTerminal().run('cancel', 'one')).stderr).to.match(/^The provider has to confirm/);
    service.status = 'queued';
    const { stdout, stderr } = await createTerminal().run('cancel', 'one', '--json');
    expect([JSON.parse(stdout).uuid, stderr]).to.deep.equal([CONTROLS, '']);
  });

  it('do not choose the folder of an output', async () => {
    const target = join(folder, 'one/two');
    mkdirSync(target, { recursive: true });
    service.uuid = FOLDERS;
    const { status, stderr } = await createTerminal().run('get', 'one', '-o', target);
    expect(status, stderr).to.equal(0);
    expect(readdirSync(target)).to.deep.equal(['______outside.png']);
    expect(readdirSync(folder)).to.deep.equal(['one']);
  });
});

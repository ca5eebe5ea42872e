import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readPaces } from '../../shared/domain/generations/execution/pollPace.ts';
import { getUpstreamRoutes } from '../../shared/gateways/upstreams/index.ts';
import { PNG } from '../fakes/misbehave.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type CliResult, TestTerminal } from '../harness/cliTerminal.ts';
import { OverloadedProxy } from '../harness/overloadedProxy.ts';
import { completeAllGenerations, seedImages } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { useFolder } from '../harness/useFolder.ts';

const UUID = /[0-9a-f]{8}-[0-9a-f-]{27}/;

describe('the command line', () => {
  const service = useTestService();
  let customer: TestCustomer;
  const folder = useFolder({ isCleared: true });

  beforeEach(async () => {
    customer = await service.createCustomer();
    service.upstream.reset();
  });

  const createTerminal = (env: Record<string, string | undefined> = {}) =>
    new TestTerminal({ XDG_CONFIG_HOME: folder, GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key, ...env });
  const run = (...args: string[]): Promise<CliResult> => createTerminal().run(...args);
  /** Runs a command with --json and returns what it printed. */
  const runJson = async (...args: string[]): Promise<any> => {
    const { status, stdout, stderr } = await run(...args, '--json');
    expect([status, stderr]).to.deep.equal([0, '']);
    return JSON.parse(stdout);
  };
  /** The terminal of a person who has not signed in. */
  const createVisitor = () => createTerminal({ GENMETER_URL: undefined, GENMETER_KEY: undefined });
  /** Stores the key of the customer, which is read from a pipe. */
  const logIn = async (key = customer.key) => {
    const terminal = createVisitor();
    Object.assign(terminal, { isInteractive: false, secret: key });
    return { terminal, ...(await terminal.run('login', '--url', service.baseUrl, '--key')) };
  };
  const file = () => join(folder, 'genmeter/credentials.json');

  describe('login', () => {
    it('opens with --key the page that creates API keys, asks for the key, and stores it for its owner only', async () => {
      const terminal = createVisitor();
      terminal.secret = ` ${customer.key}\n`;
      const { status, stdout, stderr } = await terminal.run('login', '--url', `${service.baseUrl}/`, '--key');
      expect(status, stderr).to.equal(0);
      expect(terminal.opened).to.deep.equal([`${service.baseUrl}/account/keys/`]);
      expect(stdout).to.include('balance of 1100 credits');
      expect(JSON.parse(readFileSync(file(), 'utf8'))).to.deep.equal({ url: service.baseUrl, key: customer.key });
      expect(statSync(file()).mode & 0o777).to.equal(0o600);
      expect(statSync(join(folder, 'genmeter')).mode & 0o777).to.equal(0o700);
      expect(readdirSync(join(folder, 'genmeter'))).to.deep.equal(['credentials.json']);
      expect((await createVisitor().run('usage')).status).to.equal(0);
    });

    it('takes no key as an argument, which other users of the machine could read', async () => {
      const { status, stderr } = await createVisitor().run('login', '--url', service.baseUrl, '--key', customer.key);
      expect([status, stderr.includes(customer.key), readdirSync(folder)]).to.deep.equal([2, false, []]);
    });

    it('restricts a file that others could read, with --key and without opening a browser', async () => {
      mkdirSync(join(folder, 'genmeter'));
      writeFileSync(file(), '{}', { mode: 0o644 });
      const { status, terminal } = await logIn();
      expect([status, terminal.opened]).to.deep.equal([0, []]);
      expect(statSync(file()).mode & 0o777).to.equal(0o600);
    });

    it('stores nothing if the service rejects the key', async () => {
      const { status, stderr } = await logIn(`svc_${'0'.repeat(40)}`);
      expect([status, readdirSync(join(folder, 'genmeter'))]).to.deep.equal([3, []]);
      expect(stderr).to.include('unknown or revoked');
    });

    it('is needed by commands that use the account, and logout deletes the key', async () => {
      expect((await createVisitor().run('list')).status).to.equal(3);
      await logIn();
      expect((await createVisitor().run('list')).status).to.equal(0);
      expect((await createVisitor().run('logout')).stdout).to.include('remains valid');
      expect((await createVisitor().run('list')).status).to.equal(3);
      expect((await createVisitor().run('logout')).stdout).to.include('Not signed in');
    });

    it('reports a damaged file', async () => {
      mkdirSync(join(folder, 'genmeter'));
      writeFileSync(file(), '{"url":');
      const { status, stderr } = await createVisitor().run('list');
      expect([status, stderr]).to.deep.equal([1, `Error: ${file()} is damaged. Run genmeter login again.\n`]);
    });
  });

  describe('create', () => {
    it('creates an image with the defaults of the model and prints it', async () => {
      const { status, stdout } = await run('create', 'image', 'A lighthouse at dusk');
      expect(status).to.equal(0);
      expect(stdout).to.match(UUID).and.include('queued').and.include('resolution 1K, aspect_ratio 1:1');
    });

    it('passes all parameters of a video', async () => {
      const params = ['duration=10', 'resolution=1080p', 'aspect_ratio=9:16', 'audio=true'].flatMap((one) => [
        '-p',
        one,
      ]);
      const options = [...params, '-m', 'vidmodel-video'];
      const generation = await runJson('create', 'video', 'Waves', ...options);
      expect(generation.params).to.deep.equal({ duration: 10, resolution: '1080p', audio: true, aspect_ratio: '9:16' });
      expect(generation).to.include({ model: 'vidmodel-video', prompt: 'Waves', credits_charged: 70 });
    });

    it('waits, shows progress, and stores the output in a file or a folder', async () => {
      service.upstream.outcome = 'wait';
      const terminal = createTerminal();
      const file = join(folder, 'lighthouse.png');
      const running = terminal.run('create', 'image', 'A slow lighthouse', '-o', file, '--json');
      await eventually('progress is shown', () => terminal.progressLines.length > 0);
      await eventually('the job was submitted', () => service.upstream.jobsFor('A slow lighthouse').length > 0);
      service.upstream.end('A slow lighthouse', 'succeeded');
      const { status, stdout, stderr } = await running;
      expect(status, stderr).to.equal(0);
      expect(terminal.progressLines[0]).to.match(/^\| Creating the image: \d+ s$/);
      expect(terminal.progressLines.join('\n')).to.not.include('usually');
      const { uuid, file: stored } = JSON.parse(stdout) as { uuid: string; file: string };
      expect([stored, readFileSync(file)]).to.deep.equal([file, PNG]);
      expect((await runJson('get', uuid, '-o', folder)).file).to.equal(join(folder, `${uuid}.png`));
      expect(readdirSync(folder).toSorted()).to.deep.equal([`${uuid}.png`, 'lighthouse.png'].toSorted());
    });

    it('shows a bar of the usual time, once the service knows it', async () => {
      service.upstream.outcome = 'wait';
      const route = getUpstreamRoutes()['imgmodel-2']?.[0];
      const owner = await service.createCustomer('pro');
      await seedImages(service, owner, 20);
      await completeAllGenerations(service, owner);
      await service.sql(
        `UPDATE generations SET upstream = $2, upstream_model = $3, submitted_at = created_at,
                polled_at = created_at + make_interval(secs => 40)
          WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
        [owner.email, route?.upstream.name, route?.modelId],
      );
      await readPaces();
      const terminal = createTerminal();
      const running = terminal.run('create', 'image', 'A usual lighthouse', '--wait');
      await eventually('the bar is shown', () =>
        terminal.progressLines.some((line) => /^. Creating the image: \d+ s \[#*-+\] usually 40 s$/.test(line)),
      );
      service.upstream.end('A usual lighthouse', 'succeeded');
      expect((await running).status).to.equal(0);
    });

    it('reads a prompt of - from the standard input, and creates nothing if that is empty', async () => {
      const terminal = createTerminal();
      terminal.input = ' A lighthouse\nat dusk\n';
      expect(JSON.parse((await terminal.run('create', 'image', '-', '--json')).stdout).prompt).to.equal(
        'A lighthouse\nat dusk',
      );
      terminal.input = '\n';
      terminal.stderr = '';
      const { status, stderr } = await terminal.run('create', 'image', '-');
      expect([status, stderr]).to.deep.equal([
        2,
        'Error: The standard input contains no prompt. Nothing was requested.\n',
      ]);
      expect(await customer.balance()).to.equal(1_092);
    });

    it('writes the output alone to the standard output, which must not be a terminal', async () => {
      const terminal = createTerminal();
      const refused = await terminal.run('create', 'image', 'A lighthouse', '-o', '-');
      expect([refused.status, refused.stderr]).to.deep.equal([
        2,
        'Error: The standard output is a terminal. Redirect it, or name a file with --output. Nothing was requested.\n',
      ]);
      terminal.isOutputTerminal = false;
      expect((await terminal.run('create', 'image', 'A lighthouse', '-o', '-', '--json')).status).to.equal(2);
      expect(await customer.balance()).to.equal(1_100);
      expect((await terminal.run('create', 'image', 'A lighthouse', '-o', '-')).status).to.equal(0);
      expect(Buffer.from(terminal.stdout, 'latin1')).to.deep.equal(PNG);
      expect(readdirSync(folder)).to.deep.equal([]);
    });

    it('asks before it replaces a file, refuses without a terminal, and replaces it with --force', async () => {
      const file = join(folder, 'lighthouse.png');
      writeFileSync(file, 'precious');
      const create = ['create', 'image', 'A lighthouse', '-o', file];
      const terminal = createTerminal();
      expect((await terminal.run(...create)).status).to.equal(2);
      expect(terminal.questions).to.deep.equal([`Replace ${file}? [y/N] `]);
      terminal.isInteractive = false;
      terminal.stderr = '';
      expect((await terminal.run(...create)).stderr).to.equal(
        `Error: ${file} exists and was not replaced. Pass --force to replace it.\n`,
      );
      expect(terminal.questions).to.have.length(1);
      expect([readFileSync(file, 'utf8'), await customer.balance()]).to.deep.equal(['precious', 1_100]);
      const { uuid } = await runJson(...create, '--force');
      expect(readFileSync(file)).to.deep.equal(PNG);
      const asked = createTerminal();
      asked.answer = 'y\n';
      expect((await asked.run('get', uuid, '-o', file)).status).to.equal(0);
      expect(asked.questions).to.have.length(1);
      await run('get', uuid, '-o', folder);
      const again = createTerminal();
      expect((await again.run('get', uuid, '-o', folder)).status).to.equal(2);
      expect(again.questions).to.deep.equal([`Replace ${join(folder, `${uuid}.png`)}? [y/N] `]);
    });

    it('shows no progress and no hints with --quiet', async () => {
      const terminal = createTerminal();
      expect((await terminal.run('-q', 'create', 'image', 'A lighthouse', '--wait')).status).to.equal(0);
      expect([terminal.progressLines, terminal.stderr]).to.deep.equal([[], '']);
    });

    it('ends with status 6 and the reason if the generation fails', async () => {
      service.upstream.outcome = 'fail';
      const { status, stderr, stdout } = await run('create', 'image', 'A failing lighthouse', '--wait', '--json');
      expect([status, JSON.parse(stdout).status]).to.deep.equal([6, 'failed']);
      expect(JSON.parse(stderr)).to.include({ error: 'generation_failed' });
    });

    it('charges once for repeated commands with the same idempotency key', async () => {
      const args = ['create', 'image', 'A lighthouse', '--idempotency-key', 'order-1'];
      expect((await runJson(...args)).uuid).to.equal((await runJson(...args)).uuid);
      expect(await customer.balance()).to.equal(1_092);
    });

    it('prints the price instead with --estimate, and fails above --max-credits', async () => {
      const { status, stdout } = await run('create', 'video', 'Waves', '-p', 'duration=10', '--estimate');
      expect([status, stdout]).to.deep.equal([0, 'It costs 70 of 1100 credits; 1030 remain.\n']);
      const poor = createTerminal({ GENMETER_KEY: (await service.createCustomer(null)).key });
      expect((await poor.run('create', 'image', 'A lighthouse', '--estimate')).stdout).to.include(
        'It would be rejected:',
      );
      expect((await run('create', 'video', 'Waves', '--max-credits', '34')).status).to.equal(1);
      expect(await runJson('list')).to.deep.equal([]);
    });

    it('can be interrupted while it waits, and says how to continue', async () => {
      service.upstream.outcome = 'wait';
      const terminal = createTerminal();
      const running = terminal.run('create', 'image', 'An interrupted lighthouse', '--wait');
      await eventually('progress is shown', () => terminal.progressLines.length > 0);
      terminal.interrupt();
      const { status, stderr } = await running;
      expect(status).to.equal(130);
      expect(stderr)
        .to.match(/genmeter get \S+ --wait/)
        .and.include('Interrupted.');
    });

    it('charges nothing if the file cannot be stored under its name', async () => {
      const target = join(folder, `${'l'.repeat(215)}.png`);
      const { status, stderr } = await run('create', 'image', 'A lighthouse', '-o', target);
      expect([status, stderr.includes('ENAMETOOLONG')]).to.deep.equal([2, true]);
      expect([readdirSync(folder), await customer.balance()]).to.deep.equal([[], 1_100]);
    });

    it('names after the charge why the output was not stored and the command that stores it, with status 1', async () => {
      service.upstream.outcome = 'wait';
      const target = join(folder, 'images');
      mkdirSync(target);
      const running = run('create', 'image', 'A lost lighthouse', '-o', `${target}/a.png`, '--force');
      await eventually('the job was submitted', () => service.upstream.jobsFor('A lost lighthouse').length > 0);
      rmSync(target, { recursive: true });
      service.upstream.end('A lost lighthouse', 'succeeded');
      const { status, stderr } = await running;
      expect(status).to.equal(1);
      const [, command = ''] = /could not be stored: ENOENT.*genmeter (get \S+ -o \S+ --force)\n$/.exec(stderr) ?? [];
      mkdirSync(target);
      expect((await run(...command.split(' '))).status, stderr).to.equal(0);
      expect(readFileSync(`${target}/a.png`)).to.deep.equal(PNG);
    });

    it('leaves no part of a file that cannot be stored, which get says with status 1', async () => {
      const { uuid } = await runJson('create', 'image', 'A lighthouse', '--wait');
      mkdirSync(join(folder, `${uuid}.png`));
      const { status, stderr } = await run('get', uuid, '-o', folder, '--force');
      expect([status, stderr.includes('The output could not be stored: E')], stderr).to.deep.equal([1, true]);
      expect(readdirSync(folder)).to.deep.equal([`${uuid}.png`]);
    });

    describe('when the service is overloaded', () => {
      let proxy: OverloadedProxy;
      beforeEach(async () => {
        proxy = await new OverloadedProxy(service.baseUrl).start();
      });
      afterEach(() => proxy.stop());
      const runOverloaded = (...args: string[]) => createTerminal({ GENMETER_URL: proxy.url }).run(...args);
      const CREATE = ['create', 'image', 'A lighthouse', '--wait'];

      it('prints one error with the uuid of what was charged, and status 1, if the wait fails', async () => {
        proxy.lost = /\?wait=/;
        const quiet = await runOverloaded(...CREATE, '-q');
        expect(quiet.status).to.equal(1);
        const [, command = ''] = /^Error: Overloaded\. .*genmeter (get \S+ --wait)\n$/.exec(quiet.stderr) ?? [];
        expect((await run(...command.split(' '))).status, quiet.stderr).to.equal(0);
        const { status, stderr } = await runOverloaded(...CREATE, '--json');
        const { uuid, error } = JSON.parse(stderr);
        expect([status, error, (await run('get', uuid)).status]).to.deep.equal([1, 'internal_error', 0]);
      });

      it('prints one error with the key that repeats the create without a second charge, and status 1', async () => {
        proxy.lost = /\/create\//;
        const quiet = await runOverloaded(...CREATE, '-q');
        const [, key = ''] = /^Error: Overloaded\. .* --idempotency-key (\S+)\n$/.exec(quiet.stderr) ?? [];
        expect([quiet.status, key], quiet.stderr).to.deep.equal([1, proxy.idempotencyKey]);
        const { status, stderr } = await runOverloaded(...CREATE, '--json');
        const { idempotency_key: second, error } = JSON.parse(stderr);
        expect([status, error, second]).to.deep.equal([1, 'internal_error', proxy.idempotencyKey]);
        expect((await run(...CREATE, '--idempotency-key', key)).status).to.equal(0);
        expect((await run(...CREATE, '--idempotency-key', second)).status).to.equal(0);
        expect(await customer.balance()).to.equal(1_100 - 2 * 8);
      });
    });
  });

  it('stores metadata, filters by it, and cancels generations', async () => {
    Object.assign(service.upstream, { outcome: 'wait', isQueueing: true });
    await customer.createImage();
    const pairs = ['--metadata', 'project=lighthouse', '--metadata', 'note=a=b'];
    const { uuid, metadata } = await runJson('create', 'image', 'A lighthouse', ...pairs);
    expect(metadata).to.deep.equal({ project: 'lighthouse', note: 'a=b' });
    const found = await runJson('list', '--metadata', 'project=lighthouse');
    expect(found.map((one: { uuid: string }) => one.uuid)).to.deep.equal([uuid]);
    expect((await run('cancel', uuid)).status).to.equal(0);
    const { status, stdout } = await run('get', uuid, '--wait');
    expect(status).to.equal(6);
    expect(stdout)
      .to.match(/^metadata {2}note=a=b, project=lighthouse$/m)
      .and.match(/^reason +Canceled\.$/m);
    await run('cancel', (await customer.createImage()).uuid);
  });

  it('lists, shows and deletes generations', async () => {
    const [first, second] = [await customer.createImage('first'), await customer.createVideo('second \u001b[31m')];
    const { stdout } = await run('list');
    expect(stdout.split('\n')[1]).to.include('second').and.not.include('\u001b');
    expect((await runJson('list', '-n', '1')).map(({ uuid }: { uuid: string }) => uuid)).to.deep.equal([second.uuid]);
    expect((await runJson('list', '--kind', 'image')).map(({ uuid }: { uuid: string }) => uuid)).to.deep.equal([
      first.uuid,
    ]);
    expect((await run('get', first.uuid, '--wait')).stdout).to.include('succeeded');
    expect(await runJson('delete', first.uuid, second.uuid)).to.deep.equal({ deleted: [first.uuid, second.uuid] });
    expect((await run('list')).stdout).to.equal('No generations.\n');
    expect((await run('get', first.uuid)).status).to.equal(1);
  });

  it('shows usage and models, and manages keys', async () => {
    await customer.waitForEnd((await customer.createImage()).uuid);
    expect((await run('usage')).stdout)
      .to.include('1092 credits')
      .and.include('Image model');
    expect((await runJson('usage')).credits.balance).to.equal(1_092);
    expect((await runJson('usage', '--by-key'))[0]).to.include({ name: 'test', credits: 8 });
    const visitor = createTerminal({ GENMETER_KEY: undefined });
    expect((await visitor.run('models')).stdout).to.match(/vidmodel-video +video +online +35 +\w/);
    const shown = (await createTerminal().run('models', 'vidmodel-video')).stdout;
    expect(shown)
      .to.match(/^duration +5 10 +5$/m)
      .and.match(/^resolution +720p 1080p +720p$/m)
      .and.match(/^aspect_ratio +16:9 9:16 +-$/m)
      .and.match(/^audio +true false +false$/m);
    expect((await run('models', 'unknown')).stderr).to.include(
      'There is no model unknown. Choose one of: vidmodel-video, imgmodel-2.',
    );
    const key = await runJson('keys', 'create', 'laptop');
    expect(key.key).to.match(/^svc_/);
    expect((await run('keys')).stdout).to.match(/laptop .*active/);
    expect(await runJson('keys', 'revoke', key.uuid)).to.deep.equal({ revoked: true });
    expect((await run('keys', 'list')).stdout).to.match(/laptop .*revoked/);
  });

  it('takes --json before and after the command', async () => {
    const { stdout } = await createTerminal().run('--json', 'usage');
    expect(JSON.parse(stdout)).to.deep.equal(await runJson('usage'));
    const { status, stderr } = await createTerminal().run('--json', 'list', '--limit', '0');
    expect([status, JSON.parse(stderr).error]).to.deep.equal([2, 'usage']);
    const prompt = await createTerminal().run('create', 'image', '--', '--json');
    expect(prompt.stdout).to.match(/^prompt +--json$/m);
  });

  it('lists the ledger and the plans', async () => {
    await customer.createImage();
    expect((await run('ledger')).stdout).to.match(/ burn +-8 +1092 +\S.*\n.* grant +\+1100 +1100 /);
    expect(await runJson('ledger', '--type', 'refund')).to.deep.equal([]);
    expect(await runJson('ledger', '-n', '1')).to.have.length(1);
    const visitor = createTerminal({ GENMETER_KEY: undefined });
    expect((await visitor.run('plans')).stdout).to.match(/^pro +Pro +1100 +5 +\$29\.00 +\$348\.00$/m);
  });

  it('starts a top-up, whose page it prints and opens on request', async () => {
    const bought = await run('topup', '50');
    expect([bought.status, bought.stdout]).to.deep.equal([0, 'The credits were added: no payment is needed.\n']);
    expect((await runJson('ledger', '--type', 'topup'))[0].amount).to.be.above(1_000);
    const { status, stderr } = await run('topup', '1', '--open');
    expect([status, stderr.includes('amount_cents')]).to.deep.equal([1, true]);
  });

  it('opens pages and outputs in the browser, and no other kind of address', async () => {
    const { uuid } = await customer.createImage();
    const { output_url: output } = await customer.waitForEnd(uuid);
    const page = `${service.baseUrl}/account/library/${uuid}/`;
    const terminal = createTerminal();
    for (const args of [[], ['billing'], [uuid], [uuid, '--page']]) await terminal.run('open', ...args);
    expect(terminal.opened).to.deep.equal([
      `${service.baseUrl}/account/`,
      `${service.baseUrl}/account/billing/`,
      output,
      page,
    ]);
    expect(terminal.stdout.split('\n')[3]).to.equal(page);
    const { status, stderr } = await run('open', 'nowhere');
    expect([status, stderr.includes('or one of: account, library')]).to.deep.equal([2, true]);
  });

  it('ends with the status of the kind of error, and prints it as JSON on request', async () => {
    const poor = await service.createCustomer(null);
    const terminal = createTerminal({ GENMETER_KEY: poor.key });
    const { status, stderr } = await terminal.run('create', 'image', 'A lighthouse', '--json');
    expect(status).to.equal(4);
    expect(JSON.parse(stderr)).to.include({ error: 'subscription_required', status: 402 });
    expect(JSON.parse(stderr).request_id).to.be.a('string');
    expect((await createTerminal({ GENMETER_KEY: `svc_${'0'.repeat(40)}` }).run('usage')).status).to.equal(3);
    const invalid = await run('create', 'image', 'A lighthouse', '-p', 'resolution=9K');
    expect([invalid.status, invalid.stderr.includes('resolution')]).to.deep.equal([1, true]);
  });

  it('ends with status 2 and a hint for a wrong command line', async () => {
    for (const args of [
      ['list', '--status', 'done'],
      ['create', 'video', 'Waves', '-p', 'duration=long'],
      ['create', 'video', 'Waves', '-p', 'audio=on'],
      ['create', 'video', 'Waves', '-m', 'imgmodel-2'],
      ['webhooks', 'listen'],
      ['webhooks', 'listen', '--forward-to', 'http://localhost', '--secret', 'secret'],
    ]) {
      const { status, stderr } = await run(...args);
      expect(status, args.join(' ')).to.equal(2);
      expect(stderr.length, args.join(' ')).to.be.above(10);
    }
  });

  it('delete prints what was deleted before an error, and says what the error is', async () => {
    const [first, last] = [await customer.createImage(), await customer.createImage()];
    const missing = first.uuid.replace(/.{12}$/, '000000000000');
    const { status, stdout, stderr } = await run('delete', first.uuid, missing, last.uuid, '--json');
    expect([status, JSON.parse(stdout)]).to.deep.equal([1, { deleted: [first.uuid] }]);
    expect(JSON.parse(stderr)).to.include({ error: 'not_found' });
    expect((await run('delete', last.uuid)).stdout).to.equal(`Deleted ${last.uuid}\n`);
    expect((await run('list')).stdout).to.equal('No generations.\n');
  });

  it('create charges nothing if its output could not be stored', async () => {
    const { status, stderr } = await run('create', 'image', 'A lighthouse', '-o', join(folder, 'missing/a.png'));
    expect([status, stderr.includes(`the folder ${folder}/missing of --output: ENOENT`)]).to.deep.equal([2, true]);
    expect(await customer.balance()).to.equal(1_100);
  });

  it('prints help and version', async () => {
    const { status, stdout } = await run('--help');
    expect([status, stdout.includes('Exit status: 0 success')]).to.deep.equal([0, true]);
    expect((await run('--version')).stdout).to.equal('2.0.0\n');
  });
});

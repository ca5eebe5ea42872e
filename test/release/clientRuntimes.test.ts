import { createServer, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { ROOT } from '../../dev/local/environment/build.ts';
import { ClientProject } from '../harness/clientProject.ts';
import { installRuntimes, type Runtimes } from '../harness/clientSuite/runtimes.ts';
import { startSuiteService, type SuiteService } from '../harness/clientSuite/service.ts';
import { CASES, type SuiteResult } from '../harness/clientSuite/suite.ts';
import { allocatePort } from '../harness/ports.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { appendRunEvent } from '../harness/runEvents.ts';

const SUITE = join(ROOT, 'test/harness/clientSuite/suite.ts');
const TITLES = CASES.map(({ title }) => title);

function expectPassed({ passed, failed, called }: SuiteResult): void {
  expect(failed).to.deep.equal([]);
  expect(passed).to.deep.equal(TITLES);
  expect(called.length).to.be.above(20);
}

describe('the client suite, with the client installed from its tarball', function () {
  this.timeout(240_000);
  const project = new ClientProject({});
  let suite: SuiteService;
  let runtimes: Runtimes;
  let pages: Server;
  let origin: string;
  /** Results of the suite in other runtimes, which run while the browser does. */
  const results: { deno?: Promise<SuiteResult>; bun?: Promise<SuiteResult> } = {};

  before(async () => {
    const port = await allocatePort();
    // A name of its own, beside the port.
    origin = `http://localhost:${port}`;
    pages = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html>'),
    );
    pages.listen(port, '127.0.0.1');
    await once(pages, 'listening');
    suite = await startSuiteService({ API_ALLOWED_ORIGINS: origin });
    [runtimes] = await Promise.all([installRuntimes(), project.install(suite.service.baseUrl)]);
    // Nothing but the client is left out, so the suite itself cannot depend on Node.
    await build({
      entryPoints: [SUITE],
      outfile: join(project.folder, 'suite.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      external: ['@genmeter/client'],
      tsconfigRaw: {},
    });
    if ('unavailable' in runtimes) return;
    results.deno = runIn('deno', runtimes.deno, ['run', '--quiet', '--no-prompt', '--allow-net=127.0.0.1']);
    results.bun = runIn('bun', runtimes.bun, []);
    // Reported by the tests.
    for (const result of Object.values(results)) result.catch(() => {});
  });
  after(async () => {
    await Promise.allSettled(Object.values(results));
    pages?.close();
    await suite?.stop();
    project.remove();
  });

  /** Runs the suite in a program and returns the result that it prints. */
  const runIn = async (name: string, file: string, args: string[]): Promise<SuiteResult> => {
    const settings = JSON.stringify(await suite.createSettings());
    project.write(
      `${name}.mjs`,
      `import { runSuite } from './suite.mjs';\nconsole.log(JSON.stringify(await runSuite(${settings})));\n`,
    );
    const { status, out, err } = await project.run(file, [...args, `${name}.mjs`]);
    expect(status, `${out}${err}`).to.equal(0);
    return JSON.parse(out) as SuiteResult;
  };

  describe('in a browser', () => {
    let browser: Browser;
    let bundle: string;
    before(async function () {
      browser = await launchBrowser(this);
      const outfile = join(project.folder, 'bundle.js');
      const options = { bundle: true, format: 'iife', globalName: 'suite', platform: 'browser' } as const;
      const contents = "export * from './suite.mjs'; export { Genmeter } from '@genmeter/client';";
      await build({ stdin: { contents, resolveDir: project.folder }, outfile, ...options });
      bundle = readFileSync(outfile, 'utf8');
    });
    after(() => browser?.close());

    it('passes on a page of another origin that API_ALLOWED_ORIGINS lists', async () => {
      const page = await browser.newPage();
      await page.goto(origin);
      await page.addScriptTag({ content: bundle });
      const settings = JSON.stringify(await suite.createSettings());
      expectPassed(await page.evaluate<SuiteResult>(`suite.runSuite(${settings})`));
    });

    it('the client creates a generation on a page of the origin of the service', async () => {
      const { baseUrl, keys } = await suite.createSettings();
      const page = await browser.newPage({ bypassCSP: true });
      await page.goto(`${baseUrl}/api/health/`);
      await page.addScriptTag({ content: bundle });
      const status = await page.evaluate(`(async () => {
        const client = new suite.Genmeter({ baseUrl: location.origin, key: '${keys.main}' });
        const { uuid } = await client.generations.create({ model: 'imgmodel-2', prompt: 'From a page', params: { resolution: '1K' } });
        return (await client.generations.wait(uuid)).status;
      })()`);
      expect(status).to.equal('succeeded');
    });
  });

  describe('in another runtime', () => {
    for (const [name, title] of [
      ['deno', 'Deno'],
      ['bun', 'Bun'],
    ] as const) {
      it(`passes in ${title}`, async function () {
        if ('unavailable' in runtimes) {
          appendRunEvent({ kind: 'skip', file: this.test?.file ?? '', reason: runtimes.unavailable });
          return this.skip();
        }
        expectPassed((await results[name])!);
      });
    }
  });
});

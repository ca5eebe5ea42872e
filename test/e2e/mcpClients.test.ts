import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Browser } from 'playwright-core';
import { FakeModelApi } from '../fakes/fakeModelApi.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type Assistants, AUTHORIZE, ExecutableDocument, installAssistants } from '../harness/assistants.ts';
import { allowInBrowser } from '../harness/browserPages.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

const TOOLS = ['generate_image', 'generate_video', 'get_generation', 'get_usage', 'list_library'];

describe('MCP clients and frameworks, unmodified and set up as documented', function () {
  this.timeout(180_000);
  let assistants: Assistants;
  let service: TestService;
  let customer: TestCustomer;
  let model: FakeModelApi;
  let guide: ExecutableDocument;
  let frameworks: ExecutableDocument;
  let balance: number;

  before(async function () {
    this.timeout(300_000);
    assistants = await installAssistants(this, 'clients');
    service = await startTestService({ env: { OAUTH_CLIENT_METADATA_DOCUMENTS: 'off' } });
    customer = await service.createCustomer('studio');
    model = await new FakeModelApi().start();
    const values = { baseUrl: service.baseUrl, key: customer.key };
    guide = new ExecutableDocument('docs/assistants.md', values);
    frameworks = new ExecutableDocument('docs/agent-frameworks.md', values);
    balance = await customer.balance();
  });
  after(async () => {
    await assistants?.close();
    await model?.stop();
    await service?.stop();
  });

  it('the inspector lists the tools and calls one', async () => {
    const listed = JSON.parse(await assistants.run(guide.findCommand(/inspector .*Bearer.* tools\/list/)));
    expect(listed.tools.map(({ name }: { name: string }) => name)).to.have.members(TOOLS);
    const called = JSON.parse(await assistants.run(guide.findCommand(/inspector .*Bearer.* get_usage/)));
    expect(called.structuredContent.credits.balance).to.equal(balance);
  });

  it('mcporter lists the tools, creates an image and waits for it', async () => {
    await assistants.run(guide.findCommand(/mcporter config add/));
    const listed = await assistants.run(guide.findCommand(/mcporter list/));
    for (const name of TOOLS) expect(listed).to.include(name);
    expect(await assistants.run(guide.findCommand(/mcporter call/))).to.match(/succeeded|is ready/);
  });

  /** Starts the command that the guide gives to Claude Desktop. */
  const createRemote = ({ env: own, home }: Assistants, changeArgs = (args: string[]): string[] => args) => {
    const { command, args, env } = JSON.parse(guide.findFile('claude_desktop_config.json')).mcpServers.genmeter;
    const options = { command, args: changeArgs(args), env: { ...own, ...env } };
    return new StdioClientTransport({ ...options, cwd: home, stderr: 'pipe' });
  };

  it('mcp-remote creates an image, waits for it and reads it', async () => {
    const client = new Client({ name: 'desktop', version: '1.0.0' });
    await client.connect(createRemote(assistants));
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).to.have.members(TOOLS);
      const call = { prompt: 'A lighthouse at dusk', resolution: '1K' };
      const created: any = await client.callTool({ name: 'generate_image', arguments: call });
      const { uuid } = created.structuredContent;
      const ended: any = await client.callTool({ name: 'get_generation', arguments: { uuid, wait_seconds: 45 } });
      expect(ended.structuredContent.status).to.equal('succeeded');
    } finally {
      await client.close();
    }
  });

  for (const [name, prefix] of [
    ['sdk1', ''],
    ['sdk2', ''],
    ['aiSdk', ''],
    ['langChain', ''],
    ['openaiAgents', ''],
    ['mastra', 'genmeter_'],
  ] as const) {
    it(`${name}.mjs of docs/agent-frameworks.md lists the tools and calls one`, async () => {
      const file = join(assistants.home, `${name}.mjs`);
      writeFileSync(file, frameworks.findFile(`${name}.mjs`));
      const keys = { GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key };
      const openai = { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'sk-test' };
      const output = await assistants.run(`node ${file}`, { ...keys, ...openai });
      const [tools = '', result = ''] = output.split(/ ([^]*)/);
      expect(tools.split(',')).to.have.members(TOOLS.map((tool) => prefix + tool));
      const received = name === 'openaiAgents' ? model.results.join() : result;
      expect(received).to.include(String(await customer.balance()));
    });
  }

  /** Fails unless the last client registered itself, and was authorized. */
  const expectAuthorized = async (name: RegExp) => {
    const [client] = await service.sql(
      `SELECT name, metadata_expires_at FROM oauth_clients JOIN oauth_grants USING (client_id)
        WHERE connected_at IS NOT NULL ORDER BY connected_at DESC LIMIT 1`,
    );
    expect(client.name).to.match(name);
    expect(client.metadata_expires_at).to.equal(null);
  };

  describe('with sign-in in a real browser', () => {
    let browser: Browser;
    let signedOut: Assistants;
    before(async function () {
      browser = await launchBrowser(this);
      signedOut = assistants.withoutSettings();
    });
    after(async () => {
      await browser?.close();
      await signedOut?.close();
    });

    it('the inspector registers, is authorized and calls a tool', async () => {
      const { program, address } = await signedOut.startSignIn(
        guide.findCommand(/inspector \S+ \S+ \S+ http --method/),
      );
      await allowInBrowser(browser, address);
      expect((await program.ended).status, program.logs()).to.equal(0);
      expect(program.logs()).to.include('"balance": 0');
      await expectAuthorized(/inspector/i);
    });

    it('mcporter registers and is authorized', async () => {
      // The tested service has no TLS.
      const command = `${guide.findCommand(/mcporter auth/)} --allow-http`;
      const { program, address } = await signedOut.startSignIn(command);
      await allowInBrowser(browser, address);
      expect((await program.ended).status, program.logs()).to.equal(0);
      await expectAuthorized(/mcporter/i);
    });

    it('mcp-remote registers, is authorized and calls a tool', async () => {
      const transport = createRemote(signedOut, (args) => args.slice(0, args.indexOf('--header')));
      let log = '';
      transport.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
      const client = new Client({ name: 'desktop', version: '1.0.0' });
      const connecting = client.connect(transport, { timeout: 60_000 });
      try {
        await eventually('mcp-remote prints the address', () => AUTHORIZE.test(log));
        await allowInBrowser(browser, AUTHORIZE.exec(log)?.[0] ?? '');
        await connecting;
        const { structuredContent }: any = await client.callTool({ name: 'get_usage', arguments: {} });
        expect(structuredContent.credits.balance).to.equal(0);
        await expectAuthorized(/MCP CLI Proxy|mcp-remote/i);
      } finally {
        connecting.catch(() => {});
        await client.close();
      }
    });
  });
});

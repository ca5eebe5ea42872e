import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { FakeModelApi } from '../fakes/fakeModelApi.ts';
import { openDocument, provideAssistants, provideSignIn } from '../harness/assistantFixtures.ts';
import { type Assistants, AUTHORIZE } from '../harness/assistants.ts';
import { allowInBrowser } from '../harness/browserPages.ts';
import type { ExecutableDocument } from '../harness/executableDocument.ts';
import { eventually } from '../harness/testService.ts';

const TOOLS = ['generate_image', 'generate_video', 'get_generation', 'get_usage', 'list_library'];
/** Programs of docs/agent-frameworks.md, and the prefix of the tools in each framework. */
const FRAMEWORKS = [
  ['aiSdk', ''],
  ['langChain', ''],
  ['openaiAgents', ''],
  ['mastra', 'genmeter_'],
] as const;

describe('MCP clients and frameworks, unmodified and set up as documented', function () {
  this.timeout(180_000);
  const fixture = provideAssistants('clients');
  let model: FakeModelApi;
  let frameworks: ExecutableDocument;
  let balance: number;

  before(async () => {
    model = await new FakeModelApi().start();
    frameworks = openDocument('docs/agent-frameworks.md', fixture);
    balance = await fixture.customer.balance();
  });
  after(() => model?.stop());

  it('the inspector lists the tools and calls one', async () => {
    const listed = JSON.parse(
      await fixture.assistants.run(fixture.guide.findCommand(/inspector .*Bearer.* tools\/list/)),
    );
    expect(listed.tools.map(({ name }: { name: string }) => name)).to.have.members(TOOLS);
    const called = JSON.parse(
      await fixture.assistants.run(fixture.guide.findCommand(/inspector .*Bearer.* get_usage/)),
    );
    expect(called.structuredContent.credits.balance).to.equal(balance);
  });

  it('mcporter lists the tools, creates an image and waits for it', async () => {
    await fixture.assistants.run(fixture.guide.findCommand(/mcporter config add/));
    const listed = await fixture.assistants.run(fixture.guide.findCommand(/mcporter list/));
    for (const name of TOOLS) expect(listed).to.include(name);
    expect(await fixture.assistants.run(fixture.guide.findCommand(/mcporter call/))).to.match(/succeeded|is ready/);
  });

  /** Starts the command that the guide gives to Claude Desktop. */
  const createRemote = ({ env: own, home }: Assistants, changeArgs = (args: string[]): string[] => args) => {
    const { command, args, env } = JSON.parse(fixture.guide.findFile('claude_desktop_config.json')).mcpServers.genmeter;
    const options = { command, args: changeArgs(args), env: { ...own, ...env } };
    return new StdioClientTransport({ ...options, cwd: home, stderr: 'pipe' });
  };

  it('mcp-remote creates an image, waits for it and reads it', async () => {
    const client = new Client({ name: 'desktop', version: '1.0.0' });
    await client.connect(createRemote(fixture.assistants));
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

  for (const [name, prefix] of FRAMEWORKS) {
    it(`${name}.mjs of docs/agent-frameworks.md lists the tools and calls one`, async () => {
      const file = join(fixture.assistants.home, `${name}.mjs`);
      writeFileSync(file, frameworks.findFile(`${name}.mjs`));
      const keys = { GENMETER_URL: fixture.service.baseUrl, GENMETER_KEY: fixture.customer.key };
      const openai = { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'sk-test' };
      const output = await fixture.assistants.run(`node ${file}`, { ...keys, ...openai });
      const [tools = '', result = ''] = output.split(/ ([^]*)/);
      expect(tools.split(',')).to.have.members(TOOLS.map((tool) => prefix + tool));
      const received = name === 'openaiAgents' ? model.results.join() : result;
      expect(received).to.include(String(await fixture.customer.balance()));
    });
  }

  /** Fails unless the last client registered itself, and was authorized. */
  const expectAuthorized = async (name: RegExp) => {
    const [client] = await fixture.service.sql(
      `SELECT name, metadata_expires_at FROM oauth_clients JOIN oauth_grants USING (client_id)
        WHERE connected_at IS NOT NULL ORDER BY connected_at DESC LIMIT 1`,
    );
    expect(client.name).to.match(name);
    expect(client.metadata_expires_at).to.equal(null);
  };

  describe('with sign-in in a real browser', () => {
    const signIn = provideSignIn(fixture);

    it('the inspector registers, is authorized and calls a tool', async () => {
      const { program, address } = await signIn.signedOut.startSignIn(
        fixture.guide.findCommand(/inspector \S+ \S+ \S+ http --method/),
      );
      await allowInBrowser(signIn.browser, address);
      expect((await program.ended).status, program.logs()).to.equal(0);
      expect(program.logs()).to.include('"balance": 0');
      await expectAuthorized(/inspector/i);
    });

    it('mcporter registers and is authorized', async () => {
      // The tested service has no TLS.
      const command = `${fixture.guide.findCommand(/mcporter auth/)} --allow-http`;
      const { program, address } = await signIn.signedOut.startSignIn(command);
      await allowInBrowser(signIn.browser, address);
      expect((await program.ended).status, program.logs()).to.equal(0);
      await expectAuthorized(/mcporter/i);
    });

    it('mcp-remote registers, is authorized and calls a tool', async () => {
      const transport = createRemote(signIn.signedOut, (args) => args.slice(0, args.indexOf('--header')));
      let log = '';
      transport.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
      const client = new Client({ name: 'desktop', version: '1.0.0' });
      const connecting = client.connect(transport, { timeout: 60_000 });
      try {
        await eventually('mcp-remote prints the address', () => AUTHORIZE.test(log));
        await allowInBrowser(signIn.browser, AUTHORIZE.exec(log)?.[0] ?? '');
        await connecting;
        const { structuredContent }: any = await client.callTool({ name: 'get_usage', arguments: {} });
        expect(structuredContent.credits.balance).to.equal(0);
        await expectAuthorized(/MCP CLI Proxy|mcp-remote/i);
      } finally {
        connecting.catch(() => {});
        await client.close();
      }
    });

    for (const [name, prefix] of FRAMEWORKS) {
      it(`${name}SignIn.mjs of docs/agent-frameworks.md registers, is authorized, and refreshes its token`, async () => {
        const { browser, signedOut } = signIn;
        const tokensFile = join(signedOut.home, 'genmeter-sign-in.json');
        rmSync(tokensFile, { force: true });
        const script = `${name}SignIn.mjs`;
        for (const file of ['signIn.mjs', script]) {
          writeFileSync(join(signedOut.home, file), frameworks.findFile(file));
        }
        const env = { GENMETER_URL: fixture.service.baseUrl };
        const { program, address } = await signedOut.startSignIn(`node ${script}`, env);
        await allowInBrowser(browser, address);
        expect((await program.ended).status, program.logs()).to.equal(0);
        await expectAuthorized(/^Studio$/);

        const stored = JSON.parse(readFileSync(tokensFile, 'utf8'));
        const tokens = { ...stored.tokens, access_token: stored.tokens.access_token.replace(/.{8}$/, 'AAAAAAAA') };
        writeFileSync(tokensFile, JSON.stringify({ ...stored, tokens }));
        const output = await signedOut.run(`node ${script}`, env);
        const [tools = '', usage = ''] = output.split(/ ([^]*)/);
        expect(tools.split(',')).to.have.members(TOOLS.map((tool) => prefix + tool));
        expect(usage).to.match(/^0$|balance\W{1,4}0\b/im);
        const refreshed = JSON.parse(readFileSync(tokensFile, 'utf8')).tokens;
        expect(refreshed.refresh_token).to.be.a('string').and.not.equal(tokens.refresh_token);
      });
    }
  });
});

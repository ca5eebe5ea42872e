import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeModelApi } from '../fakes/fakeModelApi.ts';
import { provideAssistants, provideSignIn } from '../harness/assistantFixtures.ts';
import { allowInBrowser } from '../harness/browserPages.ts';

const QUESTION = 'How many credits do I have?';

describe('coding agents, unmodified and set up as documented', function () {
  this.timeout(180_000);
  const fixture = provideAssistants('agents');
  let model: FakeModelApi;

  beforeEach(async () => {
    model = await new FakeModelApi().start();
  });
  afterEach(() => model.stop());

  /** Fails unless the model was offered the tools, called one, and received the balance. */
  const expectUsageRead = async () => {
    const offered = [...model.offered].join();
    for (const name of ['generate_image', 'get_generation']) expect(offered).to.include(name);
    expect(model.results.join()).to.match(new RegExp(`balance\\W{1,4}${await fixture.customer.balance()}\\b`, 'i'));
  };

  it('Claude Code connects with a key, and its model calls a tool', async () => {
    // Offers all tools from the start, instead of a search for them.
    const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-test', ENABLE_TOOL_SEARCH: 'false' };
    await fixture.assistants.run(fixture.guide.findCommand(/^claude mcp add .*--header/), env);
    expect(await fixture.assistants.run(fixture.guide.findCommand(/^claude mcp list/), env)).to.match(
      /genmeter: .*Connected/,
    );
    await fixture.assistants.run(`claude -p "${QUESTION}" --allowedTools mcp__genmeter__get_usage`, env);
    await expectUsageRead();
  });

  it('Codex connects with a key, and its model calls a tool', async () => {
    const env = { GENMETER_KEY: fixture.customer.key, MODEL_KEY: 'sk-test' };
    mkdirSync(join(fixture.assistants.home, '.codex'), { recursive: true });
    const settings = [
      // The model by default calls tools from programs that it writes.
      'model = "gpt-5"',
      'model_provider = "fake"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[model_providers.fake]',
      'name = "fake"',
      `base_url = "${model.url}/v1"`,
      'env_key = "MODEL_KEY"',
      'wire_api = "responses"',
    ];
    writeFileSync(join(fixture.assistants.home, '.codex/config.toml'), `${settings.join('\n')}\n`);
    await fixture.assistants.run(fixture.guide.findCommand(/^codex mcp add .*GENMETER_KEY/), env);
    expect(await fixture.assistants.run(fixture.guide.findCommand(/^codex mcp list/), env)).to.match(
      /genmeter .*Bearer token/,
    );
    await fixture.assistants.run(`codex exec --skip-git-repo-check "${QUESTION}"`, env);
    await expectUsageRead();
  });

  it('Gemini CLI connects with a key, and its model calls a tool', async () => {
    mkdirSync(join(fixture.assistants.home, '.gemini'), { recursive: true });
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      telemetry: { enabled: false },
      // Without a name, another model chooses one.
      model: { name: 'gemini-2.5-flash' },
    };
    writeFileSync(join(fixture.assistants.home, '.gemini/settings.json'), JSON.stringify(settings));
    const env = {
      GEMINI_API_KEY: 'test',
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    };
    await fixture.assistants.run(fixture.guide.findCommand(/^gemini mcp add .*--header/), env);
    expect(await fixture.assistants.run(`${fixture.guide.findCommand(/^gemini mcp list/)} 2>&1`, env)).to.match(
      /genmeter: .*Connected/,
    );
    await fixture.assistants.run(`gemini --approval-mode yolo -p "${QUESTION}"`, env);
    await expectUsageRead();
  });

  describe('with sign-in in a real browser', () => {
    const signIn = provideSignIn(fixture);

    it('Codex registers, and is authorized', async () => {
      const { program, address } = await signIn.signedOut.startSignIn(
        fixture.guide.findCommand(/^codex mcp add .*mcp$/),
      );
      await allowInBrowser(signIn.browser, address);
      expect((await program.ended).status, program.logs()).to.equal(0);
      expect(program.logs()).to.include('Successfully logged in');
      const [grant] = await fixture.service.sql('SELECT name FROM oauth_clients');
      expect(grant.name).to.match(/codex/i);
    });
  });
});

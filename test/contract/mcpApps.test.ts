import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { INITIALIZE, postMcp, STATELESS_META } from '../harness/mcpClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const VIEW_URI = 'ui://genmeter/generation.html';
const APPS = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const OTHER_APPS = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html+skybridge'] } };
const LIST_TOOLS = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
const READ_VIEW = { jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri: VIEW_URI } };
const TOOLS_WITH_VIEW = ['generate_image', 'generate_video', 'get_generation'];

const CLIENT_HEADERS = { 'mcp-protocol-version': '2026-07-28' };

describe('MCP Apps', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    const env = { CDN_URL: 'https://cdn.example.com/media', BRAND_COLOR: '#7a2e8c' };
    service = await startTestService({ workers: 0, env });
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
  });
  after(() => service.stop());

  /**
   * Initializes a session with the extensions of a client. @returns the result, and the headers of further requests.
   */
  const initialize = async (extensions: object | undefined) => {
    const capabilities = extensions === undefined ? {} : { extensions };
    const { body, headers } = await postMcp(customer, {
      ...INITIALIZE,
      params: { ...INITIALIZE.params, capabilities },
    });
    const sessionHeaders = { 'mcp-session-id': headers.get('mcp-session-id') as string };
    return { result: body.result, call: (message: object) => postMcp(customer, message, { headers: sessionHeaders }) };
  };

  /** Sends a request of the stateless version. */
  const callStateless = async (
    message: { method: string; params?: { uri?: string } },
    extensions: object | undefined,
  ) => {
    const capabilities = extensions === undefined ? {} : { extensions };
    const meta = { ...STATELESS_META, 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const { uri } = message.params ?? {};
    const headers = {
      ...CLIENT_HEADERS,
      'mcp-method': message.method,
      ...(uri === undefined ? {} : { 'mcp-name': uri }),
    };
    return postMcp(customer, { ...message, params: { ...message.params, _meta: meta } }, { headers });
  };

  it('every client gets the same capabilities, tools and page, whatever extensions it declares', async () => {
    const declared = await initialize(APPS);
    expect(declared.result.capabilities).to.deep.equal({
      tools: {},
      resources: { subscribe: true },
      completions: {},
      extensions: { 'io.modelcontextprotocol/ui': {} },
    });
    const { tools } = (await declared.call(LIST_TOOLS)).body.result;
    const withView = tools.filter((tool: any) => tool._meta !== undefined);
    expect(withView.map(({ name }: any) => name)).to.deep.equal(TOOLS_WITH_VIEW);
    for (const { _meta } of withView) expect(_meta).to.deep.equal({ ui: { resourceUri: VIEW_URI } });
    const page = (await declared.call(READ_VIEW)).body.result;
    expect(Object.keys(page)).to.deep.equal(['contents']);
    for (const extensions of [undefined, {}, OTHER_APPS]) {
      const { result, call } = await initialize(extensions);
      expect(result).to.deep.equal(declared.result);
      expect((await call(LIST_TOOLS)).body.result).to.deep.equal({ tools });
      expect((await call(READ_VIEW)).body.result).to.deep.equal(page);
    }
  });

  it('stateless clients and shared caches may keep the tools, the description of the server and the page', async () => {
    const discover = { jsonrpc: '2.0', id: 4, method: 'server/discover' };
    const listTemplates = { ...LIST_TOOLS, method: 'resources/templates/list' };
    for (const message of [LIST_TOOLS, listTemplates, discover, READ_VIEW]) {
      const plain = (await callStateless(message, undefined)).body.result;
      expect(plain).to.include({ ttlMs: 3_600_000, cacheScope: 'public' });
      expect((await callStateless(message, APPS)).body.result).to.deep.equal(plain);
    }
    const { capabilities } = (await callStateless(discover, undefined)).body.result;
    expect(capabilities.extensions).to.deep.equal({ 'io.modelcontextprotocol/ui': {} });
    const { uuid } = await customer.createImage();
    const read = { ...READ_VIEW, params: { uri: `generation://${uuid}` } };
    for (const message of [read, { ...LIST_TOOLS, method: 'resources/list' }])
      expect((await callStateless(message, undefined)).body.result).to.include({ ttlMs: 0, cacheScope: 'private' });
  });

  it('the page has no references to other files, is smaller than 50 KB, and may load outputs only', async () => {
    const { call } = await initialize(APPS);
    const { contents } = (await call(READ_VIEW)).body.result;
    expect(contents).to.have.length(1);
    const [{ uri, mimeType, text, _meta }] = contents;
    expect([uri, mimeType]).to.deep.equal([VIEW_URI, 'text/html;profile=mcp-app']);
    expect(_meta).to.deep.equal({ ui: { csp: { resourceDomains: ['https://cdn.example.com'] }, prefersBorder: true } });
    expect(Buffer.byteLength(text)).to.be.below(50_000);
    expect(text).not.to.match(/https?:|<link|<script[^>]*\ssrc|@import|\burl\(|\{\{/);
    for (const account of [customer.key, customer.email]) expect(text).not.to.include(account);
  });

  it('the page has the accent of the operator, and offers videos if the catalog does', async () => {
    const { call } = await initialize(APPS);
    const [{ text }] = (await call(READ_VIEW)).body.result.contents;
    expect(text).to.include('--accent:light-dark(#7a2e8c,').and.include('data-offers-video="true"');
  });

  it('the only tool that the page calls is get_generation', async () => {
    const { call } = await initialize(APPS);
    const [{ text }] = (await call(READ_VIEW)).body.result.contents;
    expect(text.match(/tools\/call/g)).to.have.length(1);
    expect(text)
      .to.include("name: 'get_generation'")
      .and.not.to.match(/generate_(image|video)/);
  });
});

import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { INITIALIZE, openMcpSession, postMcp, STATELESS_META } from '../harness/mcpClient.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const VIEW_URI = 'ui://genmeter/generation.html';
const APPS = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const OTHER_APPS = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html+skybridge'] } };
const LIST_TOOLS = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
const READ_VIEW = { jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri: VIEW_URI } };
const TOOLS_WITH_VIEW = ['generate_image', 'generate_video', 'get_generation'];

const CLIENT_HEADERS = { 'mcp-protocol-version': '2026-07-28' };

const withoutMeta = ({ _meta, ...tool }: any) => tool;

describe('MCP Apps', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    const env = { CDN_URL: 'https://cdn.example.com/media', BRAND_COLOR: '#7a2e8c' };
    service = await startTestService({ workers: 0, env });
    customer = await service.createCustomer('pro');
  });
  after(() => service.stop());

  /** Initializes a session with the extensions of a client. @returns the result, and the headers of further requests. */
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

  it('a client that declares the extension gets it in the capabilities and in the metadata of three tools', async () => {
    const { result, call } = await initialize(APPS);
    expect(result.capabilities.extensions).to.deep.equal({ 'io.modelcontextprotocol/ui': {} });
    const { tools } = (await call(LIST_TOOLS)).body.result;
    const withView = tools.filter((tool: any) => tool._meta !== undefined);
    expect(withView.map(({ name }: any) => name)).to.deep.equal(TOOLS_WITH_VIEW);
    for (const { _meta } of withView) expect(_meta).to.deep.equal({ ui: { resourceUri: VIEW_URI } });
  });

  it('the responses to clients without the extension, or with another type of page, are unchanged', async () => {
    const apps = await initialize(APPS);
    const { tools: appsTools } = (await apps.call(LIST_TOOLS)).body.result;
    for (const extensions of [undefined, {}, OTHER_APPS]) {
      const { result, call } = await initialize(extensions);
      expect(result.capabilities).to.deep.equal({ tools: {}, resources: { subscribe: true } });
      const { extensions: _, ...others } = apps.result.capabilities;
      expect({ ...apps.result, capabilities: others }).to.deep.equal(result);
      const { tools } = (await call(LIST_TOOLS)).body.result;
      expect(JSON.stringify(tools)).to.equal(JSON.stringify(appsTools.map(withoutMeta)));
      const { error } = (await call(READ_VIEW)).body;
      expect([error.code, error.message]).to.deep.equal([
        -32_002,
        'Resource not found: the URI must be generation://{uuid}.',
      ]);
    }
  });

  it('malformed capabilities count as none', async () => {
    for (const extensions of [
      { 'io.modelcontextprotocol/ui': {} },
      { 'io.modelcontextprotocol/ui': { mimeTypes: 'x' } },
    ]) {
      const { result } = await initialize(extensions);
      expect(result.capabilities).not.to.have.property('extensions');
    }
  });

  it('stateless requests declare the extension each time, and caches do not share their list of tools', async () => {
    const plain = (await callStateless(LIST_TOOLS, undefined)).body.result;
    const apps = (await callStateless(LIST_TOOLS, APPS)).body.result;
    expect([plain.cacheScope, apps.cacheScope]).to.deep.equal(['public', 'private']);
    expect(apps.ttlMs).to.equal(plain.ttlMs);
    expect(apps.tools.map(withoutMeta)).to.deep.equal(plain.tools);
    expect(JSON.stringify(plain.tools)).not.to.include('_meta');
    expect((await callStateless(READ_VIEW, APPS)).body.result.contents[0].uri).to.equal(VIEW_URI);
    expect((await callStateless(READ_VIEW, undefined)).body.error.message).to.match(/Resource not found/);
    const discover = { jsonrpc: '2.0', id: 4, method: 'server/discover' };
    const described = (await callStateless(discover, APPS)).body.result.capabilities;
    expect(described.extensions).to.deep.equal({ 'io.modelcontextprotocol/ui': {} });
    expect((await callStateless(discover, undefined)).body.result.capabilities).not.to.have.property('extensions');
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

  it('a session keeps the extension after its last use was stored again', async () => {
    const { call } = await initialize(APPS);
    await service.moveClockTo(new Date(service.now.getTime() + 2 * 60_000));
    await call(LIST_TOOLS);
    const { tools } = (await call(LIST_TOOLS)).body.result;
    expect(tools[0]._meta.ui.resourceUri).to.equal(VIEW_URI);
    const plain = await openMcpSession(customer);
    const listed = (await postMcp(customer, LIST_TOOLS, { headers: plain })).body.result.tools;
    expect(JSON.stringify(listed)).not.to.include('_meta');
  });
});

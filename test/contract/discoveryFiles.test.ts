import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { request, type TestCustomer } from '../harness/apiClient.ts';
import { getRedirectLocation, MemoryOAuthProvider, submitConsent } from '../harness/oauthClient.ts';
import { type RunningApi, useTestService } from '../harness/testService.ts';

const isText = (value: unknown, most: number) =>
  typeof value === 'string' && value.length >= 1 && value.length <= most && value.trim() === value;
const createClient = () => new Client({ name: 'editor', version: '1.0.0' });
const isUrl = (value: unknown) => typeof value === 'string' && /^https?:\/\/\S+$/.test(value) && URL.canParse(value);

/** The rules of the MCP registry for a description of the version 2025-12-11, as far as they concern remote servers. */
function findRegistryProblems(server: any): string[] {
  const fields = ['$schema', 'name', 'title', 'description', 'version', 'websiteUrl', 'icons', 'remotes'];
  const rules: [name: string, holds: boolean][] = [
    ['fields', Object.keys(server).every((field) => fields.includes(field))],
    [
      'schema',
      server.$schema === 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json' &&
        isUrl(server.$schema),
    ],
    ['name', isText(server.name, 200) && /^[a-z0-9.-]+\/[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i.test(server.name)],
    ['title', isText(server.title, 100)],
    ['description', isText(server.description, 100)],
    ['version', /^\d+\.\d+\.\d+$/.test(server.version)],
    ['websiteUrl', isUrl(server.websiteUrl)],
    [
      'icons',
      (server.icons ?? []).every(
        (icon: any) => isText(icon.src, 255) && isUrl(icon.src) && icon.src.startsWith('https:'),
      ),
    ],
    [
      'remotes',
      server.remotes.length > 0 &&
        server.remotes.every((remote: any) => remote.type === 'streamable-http' && isUrl(remote.url)),
    ],
  ];
  return rules.filter(([, holds]) => !holds).map(([name]) => name);
}

describe('the files for registries and language models', () => {
  const service = useTestService({ workers: 0 });
  /** An API with a public name and a brand. */
  let branded: RunningApi;
  before(async () => {
    branded = await service.startApi({
      BASE_URL: 'http://api.Pixels.example',
      BRAND_NAME: 'Lumen & Söhne',
      BRAND_LOGO_URL: 'https://static.lumen.example/logo.svg',
    });
  });

  const get = (path: string, { baseUrl } = { baseUrl: service.baseUrl }, headers = {}) =>
    request(baseUrl, 'GET', path, { headers });

  it('server.json satisfies the rules of the MCP registry, under the domain of the service', async () => {
    const { status, headers, body } = await get('/server.json', branded);
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'application/json; charset=utf-8']);
    expect(findRegistryProblems(body)).to.deep.equal([]);
    expect(body).to.deep.include({
      name: 'example.pixels.api/lumen-sohne',
      title: 'Lumen & Söhne',
      websiteUrl: 'http://api.Pixels.example',
      icons: [{ src: 'https://static.lumen.example/logo.svg' }],
      remotes: [{ type: 'streamable-http', url: 'http://api.Pixels.example/mcp' }],
    });
    const local = (await get('/server.json')).body;
    expect(findRegistryProblems(local)).to.deep.equal([]);
    expect(local).to.deep.include({ name: 'localhost/genmeter' }).and.not.have.property('icons');
  });

  it('the rules of the MCP registry reject invalid descriptions', async () => {
    const { body } = await get('/server.json');
    for (const [rule, changes] of [
      ['fields', { tools: [] }],
      ['name', { name: 'genmeter' }],
      ['description', { description: 'x'.repeat(101) }],
      ['version', { version: '^2.0.0' }],
      ['icons', { icons: [{ src: 'http://static.lumen.example/logo.svg' }] }],
      ['remotes', { remotes: [{ type: 'http', url: 'https://a.example/mcp' }] }],
    ] as const)
      expect(findRegistryProblems({ ...body, ...changes }), rule).to.deep.equal([rule]);
  });

  it('the address in server.json is the MCP server', async () => {
    const { remotes } = (await get('/server.json')).body;
    const { status, headers } = await get(new URL(remotes[0].url).pathname);
    expect([status, headers.get('www-authenticate')?.startsWith('Bearer resource_metadata=')]).to.deep.equal([
      401,
      true,
    ]);
  });

  it('llms.txt has a title, a summary and sections of links, each of which leads to a page', async () => {
    const { status, headers, body } = await get('/llms.txt');
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/plain; charset=utf-8']);
    const text = String(body);
    expect(text).to.match(/^# genmeter\n\n> [^\n]+\n\n(?:- [^\n]+\n)+\n## /);
    expect(text).to.include('- `imgmodel-2`: Image model, image, 8 credits\n');
    expect(text).to.include('- `vidmodel-video`: Video model, video, 35 credits for 5 seconds and 70 for 10\n');
    const links = [...text.matchAll(/^- \[[^\]\n]+\]\(([^)\n]+)\): \S/gm)].map(([, url = '']) => url);
    expect(links.length).to.be.least(8);
    for (const link of links) {
      expect(link.startsWith(service.baseUrl), link).to.equal(true);
      const found = await get(link.slice(service.baseUrl.length), undefined, { accept: 'text/html' });
      // The account page leads to the sign-in page.
      expect(found.status, link).to.equal(link.endsWith('/account/') ? 303 : 200);
    }
  });

  it('llms.txt names the service by its brand and address', async () => {
    const text = String((await get('/llms.txt', branded)).body);
    expect(text)
      .to.match(/^# Lumen & Söhne\n/)
      .and.not.include('genmeter');
    expect(text).to.include('(http://api.Pixels.example/mcp)');
  });

  it('links for Cursor and VS Code contain settings with which a client signs in and connects', async () => {
    const customer = await service.createCustomer(null);
    const mcp = `${service.baseUrl}/mcp`;
    for (const [path, headers] of [
      ['/mcp', { accept: 'text/html' }],
      ['/account/applications/', { cookie: customer.cookie }],
    ] as const) {
      const page = String((await get(path, undefined, headers)).body).replaceAll('&amp;', '&');
      const cursor = new URL(/href="(cursor:[^"]+)"/.exec(page)?.[1] ?? '');
      expect(cursor.href.startsWith('cursor://anysphere.cursor-deeplink/mcp/install?'), path).to.equal(true);
      expect(cursor.searchParams.get('name')).to.equal('genmeter');
      const settings = JSON.parse(Buffer.from(cursor.searchParams.get('config') ?? '', 'base64').toString());
      expect(settings).to.deep.equal({ url: mcp });
      await connectAsEditor(settings.url, 'cursor://anysphere.cursor-mcp/oauth/callback', customer);

      const vsCode = /href="vscode:mcp\/install\?([^"]+)"/.exec(page)?.[1] ?? '';
      const server = JSON.parse(decodeURIComponent(vsCode));
      expect(server).to.deep.equal({ name: 'genmeter', type: 'http', url: mcp });
      await connectAsEditor(server.url, 'http://127.0.0.1:33418/', customer);
    }
  });

  /** Connects as an editor that has only the address: the server asks for a sign-in, and the customer allows it. */
  async function connectAsEditor(url: string, redirectUrl: string, customer: TestCustomer): Promise<void> {
    const authProvider = new MemoryOAuthProvider(redirectUrl);
    const open = () => new StreamableHTTPClientTransport(new URL(url), { authProvider });
    const rejected = open();
    const error = await createClient()
      .connect(rejected)
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(UnauthorizedError);
    const { pathname, search } = authProvider.authorizationUrl as URL;
    const location = getRedirectLocation(await submitConsent(service.baseUrl, customer, pathname + search));
    expect(location.startsWith(`${redirectUrl}?`), location).to.equal(true);
    await rejected.finishAuth(new URL(location).searchParams.get('code') as string);

    const client = createClient();
    await client.connect(open());
    const { structuredContent }: any = await client.callTool({ name: 'get_usage', arguments: {} });
    expect(structuredContent.credits.balance).to.equal(0);
    await client.close();
  }
});

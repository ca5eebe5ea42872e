import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'chai';
import { type TestCustomer, createCustomer, request } from '../harness/apiClient.ts';
import {
  ACCEPT_JSON_OR_SSE,
  buildToolCall,
  McpEventStream,
  INITIALIZE,
  openMcpSession,
  postMcp,
} from '../harness/mcpClient.ts';
import { submitConsent, getRedirectLocation, MemoryOAuthProvider, registerClient } from '../harness/oauthClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';

describe('MCP with OAuth', () => {
  const service = useTestService();
  let customer: TestCustomer;
  before(async () => {
    customer = await createCustomer(service.baseUrl, 'pro');
  });

  /** Returns the customer with an access token in place of the API key. */
  const withToken = (token: string) => Object.assign(customer.on(service.baseUrl), { key: token }) as TestCustomer;
  const connect = async (scope: string) =>
    (await (await registerClient(service.baseUrl)).authorizeAndExchange(customer, { scope })).access_token as string;
  const revokeGrants = () =>
    service.sql(
      'UPDATE oauth_grants SET revoked_at = now() WHERE account_id = (SELECT id FROM accounts WHERE email = $1)',
      [customer.email],
    );

  it('the official client connects from the URL of /mcp alone and creates an image', async () => {
    const url = new URL('/mcp', service.baseUrl);
    const provider = new MemoryOAuthProvider();
    const client = new Client({ name: 'test', version: '1.0.0' });
    const first = new StreamableHTTPClientTransport(url, { authProvider: provider });
    const rejection = await client.connect(first).catch((error: Error) => error);
    expect(rejection).to.be.instanceOf(UnauthorizedError);
    const address = provider.authorizationUrl as URL;
    const response = new URL(
      getRedirectLocation(await submitConsent(service.baseUrl, customer, address.pathname + address.search)),
    );
    await first.finishAuth(response.searchParams.get('code') as string);
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
    await client.connect(transport);
    const made: any = await client.callTool({
      name: 'generate_image',
      arguments: { prompt: 'A lighthouse', resolution: '1K' },
    });
    expect(made.isError, JSON.stringify(made)).to.not.equal(true);
    const { uuid } = made.structuredContent;
    const got: any = await client.callTool({ name: 'get_generation', arguments: { uuid, wait_seconds: 45 } });
    expect(got.structuredContent).to.include({ uuid, status: 'succeeded', credits_charged: 8 });
    await client.close();
  });

  it('a read-only token cannot create a generation and gets 403 with the missing scope', async () => {
    const reader = withToken(await connect('svc:read'));
    const before = await customer.balance();
    const session = await openMcpSession(reader);
    const usage = await postMcp(reader, buildToolCall('get_usage'), { headers: session });
    expect(usage.body.result.structuredContent.credits.balance).to.equal(before);
    const refused = await postMcp(reader, buildToolCall('generate_image', { prompt: 'x', resolution: '1K' }), {
      headers: session,
    });
    expect(refused.status).to.equal(403);
    expect(refused.headers.get('www-authenticate'))
      .to.include('error="insufficient_scope"')
      .and.to.include('scope="svc:read svc:write"')
      .and.to.include('resource_metadata=');
    expect(await customer.balance()).to.equal(before);
  });

  it('a write-only token cannot read the library or its resources', async () => {
    const writer = withToken(await connect('svc:write'));
    const session = await openMcpSession(writer);
    for (const message of [
      buildToolCall('list_library'),
      { jsonrpc: '2.0', id: 2, method: 'resources/list', params: {} },
      { jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri: 'generation://x' } },
    ]) {
      expect((await postMcp(writer, message, { headers: session })).status).to.equal(403);
    }
  });

  it('a disconnected application is rejected immediately and its open stream ends', async () => {
    const holder = withToken(await connect('svc:read svc:write'));
    const session = await openMcpSession(holder);
    const events = await McpEventStream.open(holder, session);
    expect(events.status).to.equal(200);
    await revokeGrants();
    expect((await postMcp(holder, buildToolCall('get_usage'), { headers: session })).status).to.equal(401);
    await eventually('the stream is over', async () => events.isEnded, 30_000);
  }).timeout(60_000);

  it('pages of other origins can read responses, and can call /mcp only if allowed', async () => {
    const asked = await request(service.baseUrl, 'OPTIONS', '/mcp', {
      headers: {
        origin: 'https://inspector.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,mcp-param-resolution,x-other, Mcp-Param-Wait_Seconds',
      },
    });
    expect(asked.status).to.equal(204);
    expect(asked.headers.get('access-control-allow-headers'))
      .to.match(/^Authorization, .*, mcp-param-resolution, Mcp-Param-Wait_Seconds$/)
      .and.not.to.include('x-other');
    expect(asked.headers.get('access-control-allow-methods')).to.include('DELETE');
    const refused = await postMcp(customer, INITIALIZE, { headers: { origin: 'https://inspector.example' } });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).to.deep.equal([403, '*']);
    const otherCustomer = await request(service.baseUrl, 'POST', '/mcp', {
      body: INITIALIZE,
      headers: { accept: ACCEPT_JSON_OR_SSE },
    });
    expect(otherCustomer.headers.get('access-control-expose-headers'))
      .to.include('WWW-Authenticate')
      .and.to.include('Mcp-Session-Id');
  });
});

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { httpRequests } from '../../shared/lib/metrics.ts';
import { buildMcpHeaders } from '../../dev/local/mcpMessages.ts';
import { openMcpSession } from '../harness/mcpClient.ts';
import { useTestService } from '../harness/testService.ts';

function buildRequest(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Returns the number of requests that the service has handled. */
async function countHandled(): Promise<number> {
  return (await httpRequests.get()).values.reduce((sum, { value }) => sum + value, 0);
}

describe('a client that pipelines requests', () => {
  const service = useTestService({ workers: 0 });
  let request: string;
  before(async () => {
    const customer = await service.createCustomer('pro');
    const { host } = new URL(service.baseUrl);
    const session = { host, ...buildMcpHeaders(customer.key), ...(await openMcpSession(customer)) };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const form = { 'content-type': 'application/json', 'content-length': String(body.length) };
    request = buildRequest('POST', '/mcp', { ...session, ...form }, body);
  });

  function open(): Socket {
    const { hostname, port } = new URL(service.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    return socket;
  }

  it('and reads no responses has only as many handled as the operating system buffers', async () => {
    const single = open();
    single.write(request);
    const [response] = (await once(single, 'data')) as [Buffer];
    const length = Number(/content-length: (\d+)/i.exec(response.toString())?.[1]);
    expect(length).to.be.above(1_000);
    single.destroy();

    const handledBefore = await countHandled();
    const socket = open();
    socket.pause();
    // Enough to fill the buffers of both ends many times.
    const sent = Math.ceil(100_000_000 / length);
    socket.write(request.repeat(sent));
    let handled = -1;
    for (let count = await countHandled(); count > handled; count = await countHandled()) {
      handled = count;
      await delay(500);
    }
    expect(handled - handledBefore)
      .to.be.above(0)
      .and.below(sent / 4);
    socket.destroy();
  }).timeout(30_000);
});

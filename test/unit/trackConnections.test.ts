import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { allowSlowBody } from '../../api/bodyTimeLimit.ts';
import { type Connections, trackConnections } from '../../api/connections.ts';

describe('trackConnections', () => {
  let server: Server;
  let connections: Connections;
  let responses: ServerResponse[];
  let respond: ((response: ServerResponse) => void) | undefined;
  let port: number;
  beforeEach(async () => {
    responses = [];
    respond = undefined;
    server = createServer();
    connections = trackConnections(server, (_request, response) => {
      responses.push(response);
      respond?.(response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(() => {
    server.closeAllConnections();
  });

  /** Opens a connection, sends bytes, and waits until the server has the connection. */
  async function send(bytes: string): Promise<Socket & { text: string }> {
    const socket = Object.assign(connect(port, '127.0.0.1'), { text: '' });
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => (socket.text += chunk.toString()));
    await once(server, 'connection');
    if (bytes !== '') socket.write(bytes);
    return socket;
  }

  async function open(bytes: string): Promise<Socket & { text: string }> {
    const socket = Object.assign(connect(port, '127.0.0.1'), { text: '' });
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => (socket.text += chunk.toString()));
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  }

  it('closes connections with their next response while it drains, and accepts new ones', async () => {
    const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
    const [idle, busy, pipelined] = [await send(GET), await send(GET), await send(GET + GET)];
    // The second request of the third connection waits for the first.
    while (responses.length < 3) await once(server, 'request');
    responses[0]?.end('done');
    while (!idle.text.includes('done')) await once(idle, 'data');
    expect(idle.text).to.match(/^connection: keep-alive/im);
    connections.startDraining();
    expect(connections.isDraining()).to.equal(true);
    const late = await send(GET);
    idle.write(GET);
    pipelined.write(GET);
    while (responses.length < 5) await once(server, 'request');
    // The last request of the third connection is read once the second is handled, which ends then.
    respond = (second) => {
      respond = (last) => void last.end('done');
      server.once('request', () => second.end('done'));
    };
    for (const response of responses) response.end('done');
    for (const socket of [idle, busy, pipelined, late]) {
      if (!socket.closed) await once(socket, 'close');
      expect(socket.text.trimEnd()).to.match(/connection: close\r\n[^]*?done$/i);
    }
    expect(pipelined.text.match(/done/g)).to.have.length(3);
    expect(server.listening).to.equal(true);
  });

  describe('with a time limit for bodies', () => {
    const TIME_LIMIT_MS = 300;
    const HEAD = 'PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n';
    let limited: Server;
    let requests: IncomingMessage[];
    beforeEach(async () => {
      requests = [];
      limited = createServer();
      const handle = (request: IncomingMessage, response: ServerResponse) => {
        requests.push(request);
        request.on('error', () => {}).resume();
        if (request.url === '/slow') allowSlowBody(request);
        if (request.url === '/paced') allowSlowBody(request, { bytes: 30, ms: 2 * TIME_LIMIT_MS });
        request.on('end', () => response.end('done'));
      };
      trackConnections(limited, handle, { bodyTimeLimitMs: TIME_LIMIT_MS });
      limited.listen(0, '127.0.0.1');
      await once(limited, 'listening');
      ({ port } = limited.address() as AddressInfo);
    });
    afterEach(() => {
      limited.closeAllConnections();
      limited.close();
    });

    it('rejects a request whose body does not arrive in time, also if it arrives byte by byte', async () => {
      const socket = await open(`${HEAD}x`);
      const sending = setInterval(() => socket.write('y'), TIME_LIMIT_MS / 2);
      await once(socket, 'close');
      clearInterval(sending);
      expect(socket.text).to.match(/^HTTP\/1.1 400 [^]*"The body did not arrive in time/);
    });

    it('rejects a request that may take longer once its body arrives too slowly', async () => {
      const head = HEAD.replace('/', '/paced').replace('9', '9000');
      const [steady, slow] = [await open(head), await open(`${head}${'x'.repeat(500)}`)];
      let missing = 9_000;
      const sending = setInterval(() => {
        missing -= 20;
        steady.write('y'.repeat(20));
        slow.write('y');
      }, TIME_LIMIT_MS / 3);
      await once(slow, 'close');
      clearInterval(sending);
      expect(slow.text).to.match(/^HTTP\/1.1 400 [^]*"The body did not arrive in time/);
      steady.end('y'.repeat(missing));
      await once(steady, 'close');
      expect(steady.text).to.match(/^HTTP\/1.1 200 /);
    });

    it('neither limits complete requests nor those that may take longer', async () => {
      const [waiting, slow] = [
        await open('GET /wait HTTP/1.1\r\nhost: a\r\n\r\n'),
        await open(HEAD.replace('/', '/slow')),
      ];
      while (requests.length < 2) await once(limited, 'request');
      await new Promise((resolve) => setTimeout(resolve, 4 * TIME_LIMIT_MS));
      slow.end('123456789');
      await once(slow, 'close');
      expect(slow.text).to.match(/^HTTP\/1.1 200 [^]*done$/);
      expect(waiting.text).to.match(/^HTTP\/1.1 200 [^]*done$/);
    });
  });

  it('closes a response that the client does not read', async () => {
    const socket = await send('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await once(server, 'request');
    socket.pause();
    responses[0]?.end(Buffer.alloc(64 * 1024 * 1024));
    await connections.close();
    socket.destroy();
  }).timeout(30_000);
});

import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { trackConnections } from '../../api/connections.ts';

const RESPONSE = 'r'.repeat(20_000);
/** Limit for the part of the responses that the operating system holds for both ends of a connection. */
const SOCKET_BUFFERS_BYTES = 24 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}

const buildGet = (path: string, padding = 0) => `GET ${path} HTTP/1.1\r\nhost: a\r\nx: ${'p'.repeat(padding)}\r\n\r\n`;

describe('the requests of a connection', () => {
  let server: Server;
  let accepted: Socket[];
  let handled: string[];
  let running: number;
  let maxRunning: number;
  let handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;

  beforeEach(() => {
    accepted = [];
    handled = [];
    running = 0;
    maxRunning = 0;
    handle = async (_request, response) => {
      await delay(1);
      response.end(RESPONSE);
    };
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function track(request: IncomingMessage, response: ServerResponse): Promise<void> {
    handled.push(request.url ?? '');
    running += 1;
    maxRunning = Math.max(maxRunning, running);
    response.once('finish', () => (running -= 1));
    await handle(request, response);
  }

  async function start(limits: { unreadResponseTimeoutMs?: number } = {}): Promise<number> {
    server = createServer();
    server.on('connection', (socket: Socket) => accepted.push(socket));
    trackConnections(server, (request, response) => void track(request, response), limits);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  it('are handled one after the other, and answered in their order', async () => {
    handle = async ({ url }, response) => {
      // The first takes longest.
      await delay(url === '/0' ? 50 : 1);
      response.end(`[${url}]`);
    };
    const socket = open(await start());
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
    socket.write(paths.map((path) => buildGet(path)).join(''));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    while (!text.includes('[/19]')) await once(socket, 'data');
    expect(text.match(/\[.*?\]/g)).to.deep.equal(paths.map((path) => `[${path}]`));
    expect(maxRunning).to.equal(1);
    socket.destroy();
  });

  it('are not read while a response takes long, however many a client sends', async () => {
    const finishing = new EventEmitter();
    const finished = once(finishing, 'finished');
    handle = async (_request, response) => {
      await finished;
      response.end('done');
    };
    const socket = open(await start());
    const requests = Array.from({ length: 10_000 }, (_, index) => buildGet(`/${index}`, 1_000));
    socket.write(requests.join(''));
    socket.end();
    await once(server, 'request');
    await delay(300);
    expect(handled).to.deep.equal(['/0']);
    expect(accepted[0]?.bytesRead).to.be.below(MEGABYTE);
    finishing.emit('finished');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await once(socket, 'close');
    expect(text.match(/done/g)).to.have.length(requests.length);
  }).timeout(30_000);

  it('are not handled while the client does not read the responses', async () => {
    const sent = 10_000;
    handle = async (_request, response) => {
      await delay(10);
      response.end(RESPONSE);
    };
    const socket = open(await start());
    socket.pause();
    socket.write(buildGet('/', 1_000).repeat(sent));
    let before = -1;
    // A process that stands still handles nothing either: the last response must be waiting for the client.
    while (handled.length > before || accepted[0]?.writableLength === 0) {
      before = handled.length;
      await delay(300);
    }
    expect(handled.length * RESPONSE.length).to.be.below(SOCKET_BUFFERS_BYTES);
    // One response at most is not sent.
    expect(accepted[0]?.writableLength)
      .to.be.above(0)
      .and.below(RESPONSE.length + 1_000);
    expect(accepted[0]?.bytesRead).to.be.below((handled.length + 200) * 1_100);
    socket.destroy();
  }).timeout(30_000);

  it('are all answered if the client reads slowly', async () => {
    const sent = 600;
    const socket = open(await start());
    socket.pause();
    socket.write(buildGet('/', 300).repeat(sent));
    await delay(200);
    let bytes = 0;
    let responseBytes = Infinity;
    while (bytes < sent * responseBytes) {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) await once(socket, 'readable');
      // All responses have headers of the same length.
      else if (bytes === 0) responseBytes = chunk.indexOf('\r\n\r\n') + 4 + RESPONSE.length;
      bytes += chunk?.length ?? 0;
      await delay(1);
    }
    expect(handled).to.have.length(sent);
    socket.destroy();
  }).timeout(30_000);

  it('that a client sends before it disconnects are not handled afterwards', async () => {
    handle = async (_request, response) => {
      await delay(100);
      response.end('done');
    };
    const socket = open(await start());
    socket.write(buildGet('/').repeat(5));
    await once(server, 'request');
    socket.resetAndDestroy();
    await delay(400);
    expect(handled.length).to.be.below(5);
  });

  it('with a body are read completely, behind others that take long', async () => {
    const bodies: string[] = [];
    handle = async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      bodies.push(body);
      await delay(20);
      response.end('done');
    };
    const socket = open(await start());
    const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n';
    socket.resume();
    for (const letter of ['a', 'b', 'c']) socket.write(head + letter.repeat(100_000));
    while (bodies.length < 3) await delay(10);
    expect(bodies.map((body) => [body.length, body[0]])).to.deep.equal([
      [100_000, 'a'],
      [100_000, 'b'],
      [100_000, 'c'],
    ]);
    socket.destroy();
  });

  describe('with a time limit for unread responses', () => {
    const TIME_LIMIT_MS = 1_000;

    it('end if the client reads nothing', async () => {
      handle = async (_request, response) => void response.end(Buffer.alloc(64 * MEGABYTE));
      const socket = open(await start({ unreadResponseTimeoutMs: TIME_LIMIT_MS }));
      socket.pause();
      socket.write(buildGet('/'));
      await once(server, 'request');
      await once(accepted[0] as Socket, 'close');
      socket.destroy();
    }).timeout(10_000);

    it('end if the client reads nothing of a stream that continues', async () => {
      let writing: NodeJS.Timeout | undefined;
      handle = async (_request, response) => {
        writing = setInterval(() => response.write(Buffer.alloc(MEGABYTE)), TIME_LIMIT_MS / 20);
        response.once('close', () => clearInterval(writing));
      };
      const socket = open(await start({ unreadResponseTimeoutMs: TIME_LIMIT_MS }));
      socket.pause();
      socket.write(buildGet('/'));
      await once(server, 'request');
      await once(accepted[0] as Socket, 'close');
      socket.destroy();
    }).timeout(10_000);

    it('continue while the client reads slowly, and while the handler takes longer', async () => {
      handle = async ({ url }, response) => {
        if (url === '/late') await delay(2.5 * TIME_LIMIT_MS);
        response.end(Buffer.alloc(url === '/late' ? 4 : 48 * MEGABYTE));
      };
      const port = await start({ unreadResponseTimeoutMs: TIME_LIMIT_MS });
      const [slow, late] = [open(port), open(port)];
      slow.write(buildGet('/slow'));
      late.write(buildGet('/late'));
      const answered = once(late, 'data');
      let bytes = 0;
      const startedAt = performance.now();
      while (bytes < 48 * MEGABYTE) {
        const chunk = slow.read() as Buffer | null;
        if (chunk === null) await once(slow, 'readable');
        else bytes += chunk.length;
        await delay(4);
      }
      expect(performance.now() - startedAt).to.be.above(TIME_LIMIT_MS);
      await answered;
      for (const socket of [slow, late]) socket.destroy();
    }).timeout(30_000);
  });
});

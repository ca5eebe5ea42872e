import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { serveParent } from '../childProcess.ts';
import { serveRequests } from './requestServer.ts';

/** An upstream of fal's queue protocol whose runs end at once, and that hangs or sends slowly while it has a fault. */
export type UpstreamFault = 'submit hangs' | 'status hangs' | 'file host hangs' | 'slow file of 500 MB';

/** The first box of an MP4, which is enough to be detected as one. */
const MP4 = Buffer.from('000000206674797069736f6d0000020069736f6d69736f326176633169736f366d703431', 'hex');
const SLOW_FILE_BYTES = 500 * 1024 * 1024;
const SLOW_CHUNK_MS = 50;
const UNKNOWN_REQUEST = '/00000000-0000-0000-0000-000000000000/';

let fault: UpstreamFault | null = null;
/** Connections with a request that has no complete response. */
const held = new Set<Socket>();

const base = await serveRequests(reply);

function reply(socket: Socket, request: string): void {
  const [method, path] = request.slice(0, request.indexOf('\r\n')).split(' ') as [string, string];
  const operation = method === 'POST' ? 'submit' : path.includes('/files/') ? 'file' : 'status';
  if (path.includes(UNKNOWN_REQUEST)) return send(socket, 404, { detail: 'Request not found' });
  if (fault === `${operation === 'file' ? 'file host' : operation} hangs`) return void held.add(socket);
  if (operation === 'file') return sendFile(socket);
  if (operation === 'submit') return send(socket, 200, buildReceipt(path));
  return send(
    socket,
    200,
    path.endsWith('/status') ? { status: 'COMPLETED' } : { video: { url: `${base}/files/a.mp4` } },
  );
}

function buildReceipt(model: string): object {
  const id = randomUUID();
  const url = `${base}${model}/requests/${id}`;
  return { request_id: id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
}

function sendFile(socket: Socket): void {
  const isSlow = fault === 'slow file of 500 MB';
  const length = isSlow ? SLOW_FILE_BYTES : MP4.length;
  socket.write(`HTTP/1.1 200 -\r\nContent-Type: video/mp4\r\nContent-Length: ${length}\r\n\r\n`);
  socket.write(MP4);
  if (!isSlow) return;
  held.add(socket);
  const timer = setInterval(() => socket.write(Buffer.alloc(1_024)), SLOW_CHUNK_MS);
  socket.on('close', () => clearInterval(timer));
}

function send(socket: Socket, status: number, body: object): void {
  const text = JSON.stringify(body);
  const head = [`HTTP/1.1 ${status} -`, 'Content-Type: application/json', `Content-Length: ${text.length}`];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
}

serveParent({
  base: () => base,
  /** Starts a fault, or ends it and closes the connections that it held. */
  setFault: (next: UpstreamFault | null) => {
    fault = next;
    if (next !== null) return;
    for (const socket of held) socket.destroy();
    held.clear();
  },
});

import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { Socket } from 'node:net';
import { Agent, request as sendRequest } from 'undici';
import { serveParent } from '../childProcess.ts';
import { buildResponse, serveRequests } from './requestServer.ts';

/**
 * An upstream that speaks fal's queue protocol, and takes less of the processor than the fake one of the tests, which
 * needs some 0.7 ms for a generation. It sends signed call-backs to those that ask for them, and can have a fault. The
 * id of a request begins with its duration in ms, so that the time that the service adds can be computed from its rows,
 * and the time of its end.
 */
export type UpstreamFault = 'submit hangs' | 'status hangs' | 'file host hangs' | 'slow file of 500 MB';

const PIXEL_IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE = { images: [{ url: PIXEL_IMAGE, content_type: 'image/png' }] };
const IMAGE_RESULT = buildResponse(200, IMAGE);
const COMPLETED = buildResponse(200, { status: 'COMPLETED' });
const IN_PROGRESS = buildResponse(202, { status: 'IN_PROGRESS' });
const UNFINISHED = buildResponse(400, { detail: 'Request is still in progress' });
const UNKNOWN = buildResponse(404, { detail: 'Request not found' });
/** The first box of an MP4, which is enough to be detected as one. */
const MP4 = Buffer.from('000000206674797069736f6d0000020069736f6d69736f326176633169736f366d703431', 'hex');
const SLOW_FILE_BYTES = 500 * 1024 * 1024;
const SLOW_CHUNK_MS = 50;
const USER_ID = 'bench';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const KEY_SET = buildResponse(200, { keys: [publicKey.export({ format: 'jwk' })] });
const agent = new Agent({ connections: 32 });
const base = await serveRequests(reply);
const VIDEO_RESULT = buildResponse(200, { video: { url: `${base}/files/a.mp4` } });

let durations = { leastMs: 0, mostMs: 0 };
let fault: UpstreamFault | null = null;
/** Connections with a request that has no complete response. */
const held = new Set<Socket>();
const counts = { submitted: 0, delivered: 0, calledBack: 0 };

function reply(socket: Socket, request: string): void {
  const [method, target] = request.slice(0, request.indexOf('\r\n')).split(' ') as [string, string];
  if (target === '/.well-known/jwks.json') return void socket.write(KEY_SET);
  if (target.startsWith('/files/')) return fault === 'file host hangs' ? void held.add(socket) : sendFile(socket);
  const endAt = Number(/\/requests\/\d+-(\d+)-/.exec(target)?.[1] ?? 0);
  if (method !== 'POST' && endAt === 0) return void socket.write(UNKNOWN);
  if (fault === `${method === 'POST' ? 'submit' : 'status'} hangs`) return void held.add(socket);
  if (method === 'POST') return void socket.write(buildResponse(200, submit(target)));
  const hasEnded = Date.now() >= endAt;
  if (target.endsWith('/status')) return void socket.write(hasEnded ? COMPLETED : IN_PROGRESS);
  if (!hasEnded) return void socket.write(UNFINISHED);
  counts.delivered += 1;
  socket.write(target.includes('/video/') ? VIDEO_RESULT : IMAGE_RESULT);
}

function submit(target: string): object {
  counts.submitted += 1;
  const [model, query] = target.split('?');
  const { leastMs, mostMs } = durations;
  // Steps of the golden ratio fill the range evenly, whatever their number.
  const durationMs = Math.round(leastMs + (mostMs - leastMs) * ((counts.submitted * 0.618_033_988_75) % 1));
  const id = `${durationMs}-${Date.now() + durationMs}-${randomUUID()}`;
  const callbackUrl = new URLSearchParams(query).get('fal_webhook');
  if (callbackUrl !== null) setTimeout(() => void callBack(callbackUrl, id), durationMs);
  const url = `${base}${model}/requests/${id}`;
  return { request_id: id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
}

async function callBack(url: string, id: string): Promise<void> {
  const body = JSON.stringify({ request_id: id, gateway_request_id: id, status: 'OK', payload: IMAGE });
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const hash = createHash('sha256').update(body).digest('hex');
  const signature = sign(null, Buffer.from([id, USER_ID, timestamp, hash].join('\n')), privateKey).toString('hex');
  const headers = {
    'content-type': 'application/json',
    'x-fal-webhook-request-id': id,
    'x-fal-webhook-user-id': USER_ID,
    'x-fal-webhook-timestamp': timestamp,
    'x-fal-webhook-signature': signature,
  };
  const response = await sendRequest(url, { method: 'POST', headers, body, dispatcher: agent });
  await response.body.dump();
  if (response.statusCode === 204) counts.calledBack += 1;
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

const handlers = {
  /** Sets the range of the durations, 0 by default. @returns the address. */
  start: (leastMs = 0, mostMs = 0): string => {
    durations = { leastMs, mostMs };
    return base;
  },
  counts: () => counts,
  /** Starts a fault, or ends it and closes the connections that it held. */
  setFault: (next: UpstreamFault | null): void => {
    fault = next;
    if (next !== null) return;
    for (const socket of held) socket.destroy();
    held.clear();
  },
};
export type Upstream = typeof handlers;

serveParent(handlers);

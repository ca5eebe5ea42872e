import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { Socket } from 'node:net';
import { Agent, request as sendRequest } from 'undici';
import { serveParent } from '../childProcess.ts';
import { serveRequests } from './requestServer.ts';

/**
 * An upstream whose runs take 300 to 3,000 ms, spread evenly. It speaks fal's queue protocol, and sends signed
 * call-backs to those that ask for them. The id of a request begins with its duration in ms, so that the time that the
 * service adds can be computed from its rows.
 */
const LEAST_MS = 300;
const MOST_MS = 3_000;
const PIXEL_IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const RESULT = { images: [{ url: PIXEL_IMAGE, content_type: 'image/png' }] };
const USER_ID = 'bench';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const keySet = { keys: [publicKey.export({ format: 'jwk' })] };
const agent = new Agent({ connections: 32 });
/** Ends by the id of the request. */
const endsAt = new Map<string, number>();
let submitted = 0;
let calledBack = 0;

const base = await serveRequests(reply);

function reply(socket: Socket, request: string): void {
  const [method, target] = request.slice(0, request.indexOf('\r\n')).split(' ') as [string, string];
  const { pathname, searchParams } = new URL(target, base);
  if (method === 'POST') socket.write(buildResponse(200, submit(pathname, searchParams.get('fal_webhook'))));
  else if (pathname === '/.well-known/jwks.json') socket.write(buildResponse(200, keySet));
  else {
    const id = /\/requests\/([^/]+)/.exec(pathname)?.[1] ?? '';
    const endAt = endsAt.get(id);
    if (endAt === undefined) socket.write(buildResponse(404, { detail: 'Request not found' }));
    else socket.write(pathname.endsWith('/status') ? buildStatus(endAt) : buildResult(endAt));
  }
}

function buildStatus(endAt: number): string {
  const hasEnded = performance.now() >= endAt;
  return buildResponse(hasEnded ? 200 : 202, { status: hasEnded ? 'COMPLETED' : 'IN_PROGRESS' });
}

function buildResult(endAt: number): string {
  if (performance.now() >= endAt) return buildResponse(200, RESULT);
  return buildResponse(400, { detail: 'Request is still in progress' });
}

function submit(model: string, callbackUrl: string | null): object {
  submitted += 1;
  // Steps of the golden ratio fill the range evenly, whatever their number.
  const durationMs = Math.round(LEAST_MS + (MOST_MS - LEAST_MS) * ((submitted * 0.618_033_988_75) % 1));
  const id = `${durationMs}-${randomUUID()}`;
  endsAt.set(id, performance.now() + durationMs);
  if (callbackUrl !== null) setTimeout(() => void callBack(callbackUrl, id), durationMs);
  const url = `${base}${model}/requests/${id}`;
  return { request_id: id, response_url: url, status_url: `${url}/status`, cancel_url: `${url}/cancel` };
}

async function callBack(url: string, id: string): Promise<void> {
  const body = JSON.stringify({ request_id: id, gateway_request_id: id, status: 'OK', payload: RESULT });
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
  if (response.statusCode === 204) calledBack += 1;
}

function buildResponse(status: number, body: object): string {
  const text = JSON.stringify(body);
  const head = [`HTTP/1.1 ${status} -`, 'Content-Type: application/json', `Content-Length: ${text.length}`];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

serveParent({ base: () => base, counts: () => ({ submitted, calledBack }) });

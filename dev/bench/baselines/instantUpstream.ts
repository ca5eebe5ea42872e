import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { serveParent } from '../childProcess.ts';
import { serveRequests } from './requestServer.ts';

/**
 * An upstream that completes every request at once and returns a picture of one pixel in the response itself. It speaks
 * fal's queue protocol, with just as much HTTP as the service's client needs, to leave the machine to the processes
 * that are measured. The fake upstream of the tests takes four times as much CPU per generation, some 0.7 ms.
 */
const PIXEL_IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const RESULT = buildResponse(200, { images: [{ url: PIXEL_IMAGE, content_type: 'image/png' }] });
const COMPLETED = buildResponse(200, { status: 'COMPLETED' });
const UNKNOWN = buildResponse(404, { detail: 'Request not found' });
const NO_SUCH_REQUEST = '/00000000-0000-0000-0000-000000000000/';

let submitted = 0;
let delivered = 0;

const base = await serveRequests(reply);

function reply(socket: Socket, request: string): void {
  const [method, path] = request.slice(0, request.indexOf('\r\n')).split(' ') as [string, string];
  if (method === 'POST') {
    submitted += 1;
    socket.write(buildReceipt(path));
  } else if (path.includes(NO_SUCH_REQUEST)) socket.write(UNKNOWN);
  else if (path.endsWith('/status')) socket.write(COMPLETED);
  else {
    delivered += 1;
    socket.write(RESULT);
  }
}

function buildReceipt(model: string): string {
  const id = randomUUID();
  const url = `${base}${model}/requests/${id}`;
  return buildResponse(200, {
    request_id: id,
    response_url: url,
    status_url: `${url}/status`,
    cancel_url: `${url}/cancel`,
  });
}

function buildResponse(status: number, body: object): string {
  const text = JSON.stringify(body);
  const head = [`HTTP/1.1 ${status} -`, 'Content-Type: application/json', `Content-Length: ${text.length}`];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}

serveParent({ base: () => base, counts: () => ({ submitted, delivered }) });

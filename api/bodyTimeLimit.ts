import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { UPLOAD_PACE, UPLOAD_TIME_LIMIT_MS } from '../shared/spec/limits.ts';

/** Time limit for the body of a request. Node's own limit is for all requests, and uploads take longer. */
export const BODY_TIME_LIMIT_MS = 30_000;
const CHECK_INTERVAL_MS = 1_000;

/** A request with its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Bytes that must arrive within each such time. */
interface Pace {
  bytes: number;
  ms: number;
}

/** A request that may have the time of an upload, at this pace. */
interface TimedRequest extends IncomingMessage {
  pace?: Pace;
}

/** A body that is arriving. */
interface Arrival {
  since: number;
  /** Time at which the pace was last kept, with the bytes that the connection had received until then. */
  paceSince: number;
  paceBytes: number;
}

/** Allows a request the time of an upload for its body. Call it only once the request is authorized. */
export function allowSlowBody(request: IncomingMessage, pace: Pace = UPLOAD_PACE): void {
  (request as TimedRequest).pace = pace;
}

/**
 * Ends requests whose body does not arrive in time, with a 400. Checks all incomplete requests from time to time, so
 * that it adds nothing to the others.
 * @param listStarted lists the requests that are handled now.
 */
export function limitBodyTime(server: Server, listStarted: () => Iterable<Exchange>, timeLimitMs: number): void {
  let incomplete = new Map<TimedRequest, Arrival>();
  const checking = setInterval(
    () => {
      const at = performance.now();
      const earlier = incomplete;
      incomplete = new Map();
      for (const { request, response } of listStarted()) {
        if (request.complete) continue;
        const arrival = earlier.get(request) ?? startArrival(request, at);
        incomplete.set(request, arrival);
        if (isLate(request, arrival, at, timeLimitMs)) endRequest(request, response);
      }
    },
    Math.min(CHECK_INTERVAL_MS, timeLimitMs),
  );
  checking.unref();
  server.once('close', () => clearInterval(checking));
}

function startArrival({ socket }: IncomingMessage, at: number): Arrival {
  return { since: at, paceSince: at, paceBytes: socket.bytesRead };
}

function isLate({ pace, socket }: TimedRequest, arrival: Arrival, at: number, timeLimitMs: number): boolean {
  if (pace === undefined) return at - arrival.since >= timeLimitMs;
  if (socket.bytesRead - arrival.paceBytes >= pace.bytes)
    Object.assign(arrival, { paceSince: at, paceBytes: socket.bytesRead });
  return at - arrival.since >= UPLOAD_TIME_LIMIT_MS || at - arrival.paceSince >= pace.ms;
}

function endRequest({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) socket.destroy();
  else rejectConnection(socket, 'The body did not arrive in time. Send the request again.');
}

/** Responds to a request that has no valid or complete form with the usual error body, and closes its connection. */
export function rejectConnection(socket: Duplex, detail: string): void {
  if (!socket.writable) return;
  const body = JSON.stringify({ error: 'validation_error', detail });
  const head = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  socket.end(`${head}Connection: close\r\n\r\n${body}`);
}

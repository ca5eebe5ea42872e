import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError, EXIT } from '../terminal.ts';
import { REDIRECT_PATH } from './server.ts';

/** A port of this machine that waits for the browser to return from the authorization server (RFC 8252). */
export interface Loopback {
  redirectUri: string;
  /**
   * Waits for the redirect.
   * @returns its parameters.
   * @throws CommandError after the time; the reason of the signal when it aborts.
   */
  waitForRedirect(timeoutMs: number, signal: AbortSignal): Promise<URLSearchParams>;
  close(): void;
}

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>genmeter</title>
<p>Return to the terminal to see the result. You can close this page.</p></html>`;

/**
 * Opens the port. Requests without the state of this sign-in are not answers to it, such as those of other pages, and
 * change nothing.
 * @throws CommandError if no port can be opened.
 */
export async function openLoopback(state: string): Promise<Loopback> {
  const server = createServer();
  let resolve: (parameters: URLSearchParams) => void;
  const redirect = new Promise<URLSearchParams>((done) => {
    resolve = done;
  });
  server.on('request', ({ method, url = '' }, response) => {
    const [path, query] = url.split('?', 2);
    const parameters = new URLSearchParams(query);
    if (method !== 'GET' || path !== REDIRECT_PATH || parameters.get('state') !== state)
      return sendPage(response, 404, '');
    sendPage(response, 200, PAGE);
    resolve(parameters);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening').catch((error: Error) => {
    const detail = `No port of 127.0.0.1 could be opened for the answer of the browser (${error.message}). Run genmeter login --key.`;
    throw new CommandError(EXIT.failure, 'no_port', detail);
  });
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${REDIRECT_PATH}`,
    async waitForRedirect(timeoutMs, signal) {
      const ended = new AbortController();
      const expiry = delay(timeoutMs, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).then(() => {
        const seconds = Math.round(timeoutMs / 1_000);
        const detail = `There was no answer within ${seconds} s. Run genmeter login again, or genmeter login --key.`;
        throw new CommandError(EXIT.notSignedIn, 'timeout', detail);
      });
      try {
        return await Promise.race([redirect, expiry]);
      } finally {
        ended.abort();
        expiry.catch(() => {});
      }
    },
    close() {
      server.close();
      // Browsers keep connections open.
      server.closeIdleConnections();
    },
  };
}

function sendPage(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    .end(body);
}

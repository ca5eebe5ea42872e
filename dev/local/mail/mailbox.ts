import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type MailboxMessage, renderList, renderMessage, withNewWindows } from './mailPages.ts';
import { parseMessage } from './parseMessage.ts';
import { startSmtpReceiver } from './smtpReceiver.ts';

/** A mail server with a page that shows what it has received. */
export interface Mailbox {
  /** Value for SMTP_URL. */
  smtpUrl: string;
  pageUrl: string;
  stop(): Promise<void>;
}

const MESSAGES_MAX = 500;

/** Starts a mailbox on 127.0.0.1. It keeps the newest messages in memory and relays none. */
export async function startMailbox(ports: { smtp: number; page: number }): Promise<Mailbox> {
  const messages: MailboxMessage[] = [];
  let received = 0;
  const receiver = await startSmtpReceiver(ports.smtp, {
    onMessage: async ({ to, raw, receivedAt }) => {
      received += 1;
      messages.unshift({ ...parseMessage(raw), id: received, to: to.join(', '), receivedAt });
      messages.length = Math.min(messages.length, MESSAGES_MAX);
    },
  });
  const server = createServer((request, response) => respond(messages, request, response));
  server.listen(ports.page, '127.0.0.1');
  await once(server, 'listening');
  return {
    smtpUrl: receiver.url,
    pageUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await receiver.stop();
    },
  };
}

/** Styles of the page and of messages; no scripts, and nothing from another address. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; frame-ancestors 'none'";
const CONTENT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-popups allow-popups-to-escape-sandbox";

function respond(messages: MailboxMessage[], request: IncomingMessage, response: ServerResponse): void {
  const send = (status: number, html: string, policy = PAGE_POLICY) =>
    response
      .writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
      .end(html);
  // A page of another site could otherwise read the messages through a host name of its own.
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? '')) return void send(403, 'Wrong host name.');
  if (request.method !== 'GET') return void send(405, 'Only GET is supported.');
  if (request.url === '/') return void send(200, renderList(messages));
  const [, id, part] = /^\/messages\/(\d+)\/(html)?$/.exec(request.url ?? '') ?? [];
  const message = messages.find((candidate) => String(candidate.id) === id);
  if (message === undefined) return void send(404, 'No such message. Messages are kept until the service stops.');
  if (part === 'html') send(200, withNewWindows(message.html), CONTENT_POLICY);
  else send(200, renderMessage(message));
}

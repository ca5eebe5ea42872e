import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { callbackify } from 'node:util';
import { SMTPServer } from 'smtp-server';

/** A message as it was received, before it is accepted. */
export interface ReceivedMessage {
  to: string[];
  /** The message with its headers. */
  raw: string;
  receivedAt: Date;
}

/** A command that can be rejected by throwing an error with a `responseCode`. */
export interface ReceiverHooks {
  onConnect?(socket: Socket | undefined): Promise<void>;
  onRecipient?(address: string, socket: Socket | undefined): Promise<void>;
  /** Called with a complete message. The server accepts it once the promise resolves. */
  onMessage(message: ReceivedMessage, socket: Socket | undefined): Promise<void>;
}

export interface SmtpReceiver {
  /** Value for SMTP_URL. */
  url: string;
  port: number;
  stop(): Promise<void>;
}

const CLOSE_TIMEOUT_MS = 200;
/** Far above the messages of the service. Others are rejected, so that what is kept in memory is bounded. */
const MESSAGE_MAX_BYTES = 256 * 1024;

/** Starts a mail server on 127.0.0.1 that relays nothing: it passes messages for any address to its hooks. */
export async function startSmtpReceiver(port: number, hooks: ReceiverHooks): Promise<SmtpReceiver> {
  const sockets = new Map<number | undefined, Socket>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: CLOSE_TIMEOUT_MS,
    logger: false,
    onConnect: (session, done) => {
      settle(hooks.onConnect?.(sockets.get(session.remotePort)), done);
    },
    onRcptTo: ({ address }, session, done) => {
      settle(hooks.onRecipient?.(address, sockets.get(session.remotePort)), done);
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MESSAGE_MAX_BYTES) chunks.push(chunk);
      });
      stream.once('end', () => {
        if (bytes > MESSAGE_MAX_BYTES) {
          done(Object.assign(new Error('The message is too large.'), { responseCode: 552 }));
          return;
        }
        const to = session.envelope.rcptTo.map(({ address }) => address);
        const message = { to, raw: Buffer.concat(chunks).toString(), receivedAt: new Date() };
        settle(hooks.onMessage(message, sockets.get(session.remotePort)), done);
      });
    },
  });
  // Clients that disconnect in the middle of a message are no fault of this server.
  server.on('error', () => {});
  server.server.on('connection', (socket: Socket) => {
    const { remotePort } = socket;
    sockets.set(remotePort, socket);
    socket.once('close', () => sockets.delete(remotePort));
  });
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  const { port: listening } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${listening}`,
    port: listening,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets.values()) socket.destroy();
      await closed;
    },
  };
}

function settle(work: Promise<void> | undefined, done: (error?: Error | null) => void): void {
  callbackify(() => work ?? Promise.resolve())(done);
}

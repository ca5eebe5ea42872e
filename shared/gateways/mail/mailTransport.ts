import type { SendMailOptions, SMTPPoolOptions } from 'nodemailer';
import { config } from '../../lib/config.ts';
import { parseMailAddress } from '../../lib/email.ts';
import { perService } from '../../lib/serviceScope.ts';
import { toMailError } from './mailError.ts';

/** Connections to the mail server of this process, and the number of messages that it sends at a time. */
export const MAIL_CONNECTIONS = 4;

/** Time limits, so that a server that does not respond delays neither other messages nor a shutdown. */
const CONNECT_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 15_000;
/** Limit for a whole attempt: less than the time in which a process shuts down. */
const SEND_TIMEOUT_MS = 20_000;
/** Shorter than mail servers keep a connection open, so that none is found closed. */
const IDLE_TIMEOUT_MS = 10_000;

/** A message as it is sent. Sender and addresses for replies are those of the configuration. */
export interface MailMessage {
  /** Recipient's address. */
  to: string;
  /** Identifies the message in all attempts, so that receivers can recognize a repeated one. */
  uuid: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}

interface Transport {
  sendMail(message: SendMailOptions): Promise<unknown>;
  close(): void;
}

const state = perService(
  () => ({ transport: undefined as Promise<Transport> | undefined }),
  async ({ transport }) => (await transport)?.close(),
);

/** Opens the connections on first use: nodemailer is loaded only where e-mail is sent. */
async function openTransport(): Promise<Transport> {
  const { createTransport } = await import('nodemailer');
  return createTransport(buildTransportOptions());
}

/** Parameters in the query of SMTP_URL override these options: see docs/email.md. */
function buildTransportOptions(): SMTPPoolOptions & { pool: true } {
  const url = config.SMTP_URL as string;
  return {
    pool: true,
    url,
    maxConnections: MAIL_CONNECTIONS,
    idleTimeout: IDLE_TIMEOUT_MS,
    // The row of a message decides when it is sent again.
    maxRequeues: 0,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    requireTLS: config.NODE_ENV === 'production' && !isLocalHost(new URL(url).hostname),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Returns true for this machine, to which a connection needs no TLS. */
function isLocalHost(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/**
 * Sends a message. After an error whose outcome is unknown, the message may have been accepted.
 * @throws MailError
 */
export async function sendMail({ to, uuid, headers, ...content }: MailMessage): Promise<void> {
  const from = parseMailAddress(config.MAIL_FROM as string);
  if (from === null) throw new Error('MAIL_FROM has no address.');
  const replyTo = config.MAIL_REPLY_TO ?? config.SUPPORT_EMAIL;
  const opened = state();
  opened.transport ??= openTransport();
  try {
    const transport = await opened.transport;
    await transport.sendMail({
      ...content,
      from: { name: from.name ?? config.BRAND_NAME, address: from.address },
      to: { name: '', address: to },
      ...(replyTo === undefined ? {} : { replyTo }),
      messageId: `<${uuid}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated', ...headers },
      // Closes the connection, so that an attempt that has timed out does not continue.
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
  } catch (error) {
    throw toMailError(error as Error);
  }
}

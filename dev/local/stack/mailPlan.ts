import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../shared/lib/config.ts';
import { choosePort } from '../servers/ports.ts';
import { readServerRecord, writeServerRecordFile } from '../servers/runningServer.ts';

/** Sender of local messages, if MAIL_FROM is not set. */
const LOCAL_SENDER = 'no-reply@localhost';

/** Options for starting the local mailbox. */
export interface MailboxLaunchOptions {
  smtpUrl: string;
  pageUrl: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Prepares the local mailbox, unless SMTP_URL names a mail server or customers would miss what it swallows. The ports
 * stay the same from start to start, as far as they are free.
 */
export async function prepareMailbox(
  dataDir: string,
  { SMTP_URL, NODE_ENV }: Pick<Config, 'SMTP_URL' | 'NODE_ENV'>,
): Promise<MailboxLaunchOptions | null> {
  if (SMTP_URL !== undefined || NODE_ENV === 'production') return null;
  const folder = join(dataDir, 'mailbox');
  mkdirSync(folder, { recursive: true });
  const smtp = await chooseRecordedPort(join(folder, 'smtp.json'));
  const page = await chooseRecordedPort(join(folder, 'page.json'));
  return {
    smtpUrl: `smtp://127.0.0.1:${smtp}`,
    pageUrl: `http://127.0.0.1:${page}/`,
    env: { ...process.env, MAILBOX_SMTP_PORT: String(smtp), MAILBOX_PAGE_PORT: String(page) },
  };
}

async function chooseRecordedPort(file: string): Promise<number> {
  const port = await choosePort(undefined, readServerRecord(file)?.port);
  writeServerRecordFile(file, { port, pid: null, source: 'local mailbox' });
  return port;
}

/** Variables that send all e-mail to the local mailbox; none if there is no mailbox. */
export function buildMailEnv(
  mailbox: MailboxLaunchOptions | null,
  { MAIL_FROM }: Pick<Config, 'MAIL_FROM'>,
): Record<string, string> {
  return mailbox === null ? {} : { SMTP_URL: mailbox.smtpUrl, MAIL_FROM: MAIL_FROM ?? LOCAL_SENDER };
}

/** Variables that let webhooks reach receivers on this machine, unless WEBHOOK_ADDRESSES is set. */
export function buildWebhookEnv({ NODE_ENV }: Pick<Config, 'NODE_ENV'>): Record<string, string> {
  const isSet = (process.env['WEBHOOK_ADDRESSES']?.trim() ?? '') !== '';
  return isSet || NODE_ENV === 'production' ? {} : { WEBHOOK_ADDRESSES: 'any' };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Terminal } from './terminal.ts';

/** Connects the commands to this process. The first ctrl-C aborts, the second one ends the process. */
export function createProcessTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  // The reader of the results has ended, such as `head`.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

  let hasProgress = false;
  const clear = () => {
    if (hasProgress) stderr.write('\r\u001b[K');
    hasProgress = false;
  };
  return {
    env,
    isJson: false,
    isQuiet: false,
    print: (text) => {
      clear();
      stdout.write(`${text}\n`);
    },
    writeFile: async (content) => {
      clear();
      for await (const chunk of content) if (!stdout.write(chunk)) await once(stdout, 'drain');
    },
    note: (text) => {
      clear();
      stderr.write(`${text}\n`);
    },
    progress: (line) => {
      if (!stderr.isTTY) return;
      stderr.write(`\r\u001b[K${line}`);
      hasProgress = true;
    },
    readSecret: (prompt) => (stdin.isTTY ? readHidden(prompt) : readInput()),
    readInput,
    ask: (question) => {
      clear();
      return readAnswer(question);
    },
    isInteractive: stdin.isTTY && stderr.isTTY,
    isOutputTerminal: stdout.isTTY,
    openBrowser: (url) => startBrowser(url, env['BROWSER']),
    signal: controller.signal,
  };
}

async function readHidden(prompt: string): Promise<string> {
  process.stderr.write(prompt);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  return readAnswer('', hidden).finally(() => process.stderr.write('\n'));
}

async function readAnswer(question: string, output: NodeJS.WritableStream = process.stderr): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const aborted = new AbortController();
  lines.once('SIGINT', () => aborted.abort());
  try {
    return await lines.question(question, { signal: aborted.signal });
  } finally {
    lines.close();
  }
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Opens an address in the browser of the person. A failure has no effect: the address is printed as well. */
function startBrowser(url: string, browser: string | undefined): void {
  const [command, ...args] = findBrowserCommand(browser);
  const child = spawn(command as string, [...args, url], { stdio: 'ignore', detached: true });
  child.once('error', () => {});
  child.unref();
}

function findBrowserCommand(browser: string | undefined): string[] {
  if (browser !== undefined && browser !== '') return [browser];
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

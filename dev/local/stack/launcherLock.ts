import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getErrorCode } from '../servers/errorDetails.ts';

const HOLDER_TIMEOUT_MS = 1_000;

/**
 * Claims a data folder for this launcher until its process ends. The claim is a listening socket, which the system
 * closes however its holder ends, so that it is never stale; its holder sends its description to every connection.
 * @param holder description for people: `process 12, http://localhost:3000`.
 * @throws Error if another launcher holds the claim.
 */
export async function acquireLauncherLock(dataDir: string, holder: string): Promise<void> {
  const path = getSocketPath(dataDir);
  if (await listenWithHolder(path, holder)) return;
  const other = await readHolder(path);
  if (other === null) {
    // A stale socket file: its holder was killed.
    if (!path.startsWith('\0')) rmSync(path, { force: true });
    if (await listenWithHolder(path, holder)) return;
  }
  throw new Error(
    `The data folder ${dataDir} is in use by another start (${other ?? 'which does not respond'}): ` +
      'stop it first, or set DATA_DIR to another folder.',
  );
}

function getSocketPath(dataDir: string): string {
  const name = `genmeter-start-${createHash('sha256').update(dataDir).digest('hex').slice(0, 24)}`;
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

function listenWithHolder(path: string, holder: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.end(holder);
    });
    server.once('error', (error) => {
      if (getErrorCode(error) === 'EADDRINUSE' || getErrorCode(error) === 'EACCES') resolve(false);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve(true);
    });
  });
}

/** Reads the description of the holder; null if the folder is not claimed. */
function readHolder(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = net.connect(path);
    socket.setEncoding('utf8');
    socket.setTimeout(HOLDER_TIMEOUT_MS, () => socket.destroy());
    socket.on('data', (part: string) => (answer += part));
    socket.on('error', (error) =>
      resolve(getErrorCode(error) === 'ECONNREFUSED' || getErrorCode(error) === 'ENOENT' ? null : ''),
    );
    socket.on('close', () => resolve(answer || 'which does not identify itself'));
  });
}

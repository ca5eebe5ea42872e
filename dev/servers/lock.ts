import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LONGEST_WAIT_MS = 180_000;

/**
 * Runs `work` while no other start or stop of the same server and data folder runs, in this process or another.
 * The lock is a listening socket: the system lets go of it however its holder ends, so it is never stale.
 * @throws Error when the lock is not had within three minutes.
 */
export async function withLock<T>(name: string, dataDir: string, work: () => Promise<T>): Promise<T> {
  const held = await takeLock(name, dataDir);
  try {
    return await work();
  } finally {
    await new Promise((resolve) => held.close(resolve));
  }
}

async function takeLock(name: string, dataDir: string): Promise<net.Server> {
  const path = lockPath(`${name} ${dataDir}`);
  const deadline = performance.now() + LONGEST_WAIT_MS;
  for (;;) {
    const held = await listenOn(path);
    if (held !== null) return held;
    if (process.platform === 'darwin' && (await isDeserted(path))) rmSync(path, { force: true });
    if (performance.now() > deadline) {
      throw new Error(`Another start of ${name} on ${dataDir} does not come to an end: end that process first.`);
    }
    await delay(50);
  }
}

function lockPath(subject: string): string {
  const name = `genmeter-${createHash('sha256').update(subject).digest('hex').slice(0, 24)}`;
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

function listenOn(path: string): Promise<net.Server | null> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null);
      else reject(error);
    });
    server.listen(path, () => resolve(server));
  });
}

/** A socket file stays behind its killed holder; Linux (an abstract name) and Windows (a pipe) have none. */
function isDeserted(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.once('connect', () => resolve(false));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
    socket.once('close', () => socket.destroy());
    socket.unref();
  });
}

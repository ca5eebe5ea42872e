import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOCK_TIMEOUT_MS = 180_000;

/**
 * Runs `work` while no other start or stop of the same server and data folder runs, in this process or another. The
 * lock is a listening socket: the system releases it however its holder ends, so that it is never stale.
 * @throws Error if the lock is not free within three minutes.
 */
export async function withDataDirLock<T>(name: string, dataDir: string, work: () => Promise<T>): Promise<T> {
  const lockServer = await acquireLock(name, dataDir);
  try {
    return await work();
  } finally {
    await new Promise((resolve) => lockServer.close(resolve));
  }
}

async function acquireLock(name: string, dataDir: string): Promise<net.Server> {
  const path = getLockPath(`${name} ${dataDir}`);
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    const lockServer = await tryListen(path);
    if (lockServer !== null) return lockServer;
    if (process.platform === 'darwin' && (await isStaleSocket(path))) rmSync(path, { force: true });
    if (performance.now() > deadline) {
      throw new Error(`Another start of ${name} on ${dataDir} has not finished: stop that process first.`);
    }
    await delay(50);
  }
}

function getLockPath(subject: string): string {
  const name = `genmeter-${createHash('sha256').update(subject).digest('hex').slice(0, 24)}`;
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

function tryListen(path: string): Promise<net.Server | null> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null);
      else reject(error);
    });
    server.listen(path, () => resolve(server));
  });
}

/** A socket file survives a killed holder; Linux (an abstract name) and Windows (a pipe) have no such file. */
function isStaleSocket(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(path);
    socket.once('connect', () => resolve(false));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
    socket.once('close', () => socket.destroy());
    socket.unref();
  });
}

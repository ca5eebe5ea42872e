import net from 'node:net';

const PROBE_TIMEOUT_MS = 1_000;

/** The properties that a Redis reports. */
export interface RedisInfo {
  /** False while it is loading its data. */
  isReady: boolean;
  version: string;
  pid: number;
  /** Its data folder; null for a server without one. */
  dir: string | null;
}

/** Checks what listens on a port of 127.0.0.1; null if it is not a Redis. */
export function probeRedis(port: number): Promise<RedisInfo | null> {
  const commands = [['PING'], ['INFO', 'server'], ['CONFIG', 'GET', 'dir'], ['QUIT']].map(encodeCommand).join('');
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let reply = '';
    socket.setEncoding('utf8');
    socket.setTimeout(PROBE_TIMEOUT_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(commands));
    socket.on('data', (part: string) => (reply += part));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(parseReplies(reply)));
  });
}

function encodeCommand(command: string[]): string {
  const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${command.length}\r\n${words.join('')}`;
}

function parseReplies(reply: string): RedisInfo | null {
  const version = /^(?:valkey|redis)_version:(\S+)/m.exec(reply)?.[1];
  const pid = /^process_id:(\d+)/m.exec(reply)?.[1];
  if (version === undefined || pid === undefined) return null;
  const dir = /\r\ndir\r\n\$\d+\r\n(.*)\r\n/.exec(reply)?.[1] ?? null;
  return { isReady: reply.startsWith('+PONG'), version, pid: Number(pid), dir };
}

import net from 'node:net';

const LONGEST_ANSWER_MS = 1_000;

/** What a Redis says of itself. */
export interface RedisAnswer {
  /** False while it still loads its data. */
  isReady: boolean;
  version: string;
  pid: number;
  /** The folder of its data; null for a server that has none. */
  dir: string | null;
}

/** Asks whatever listens on a port of 127.0.0.1 whether it is a Redis, and which; null when it is none. */
export function askRedis(port: number): Promise<RedisAnswer | null> {
  const question = [['PING'], ['INFO', 'server'], ['CONFIG', 'GET', 'dir'], ['QUIT']].map(encode).join('');
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8');
    socket.setTimeout(LONGEST_ANSWER_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(question));
    socket.on('data', (part: string) => (answer += part));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(parse(answer)));
  });
}

function encode(command: string[]): string {
  const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${command.length}\r\n${words.join('')}`;
}

function parse(answer: string): RedisAnswer | null {
  const version = /^(?:valkey|redis)_version:(\S+)/m.exec(answer)?.[1];
  const pid = /^process_id:(\d+)/m.exec(answer)?.[1];
  if (version === undefined || pid === undefined) return null;
  const dir = /\r\ndir\r\n\$\d+\r\n(.*)\r\n/.exec(answer)?.[1] ?? null;
  return { isReady: answer.startsWith('+PONG'), version, pid: Number(pid), dir };
}

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { runCommand } from './runCommand.ts';
import { unpackRedis } from './redisPackages.ts';

/** A Redis that runs on this machine. */
export interface RedisBinary {
  file: string;
  env: NodeJS.ProcessEnv;
  source: string;
  /** False for the in-memory fallback, which has no options. */
  keepsData: boolean;
}

/**
 * Finds a Redis that BullMQ supports (6.2 or newer): one on the PATH, else that of the distribution's packages, else
 * the JavaScript fallback.
 * @throws Error with all attempts that were made.
 */
export async function findRedis(dataDir: string, log: (line: string) => void): Promise<RedisBinary> {
  const tried: string[] = [];
  for (const look of [findOnPath, findInPackages, findInMemoryFallback]) {
    const found = await look(dataDir, log);
    if (typeof found !== 'string') {
      if (!found.keepsData) {
        log(
          `redis: no real Redis runs here (${tried.join('; ')}). Using ${found.source}: compatible with Redis but not Redis, ` +
            'in memory only. Its jobs are lost at exit and restored from Postgres. Set REDIS_URL to use a real one.',
        );
      }
      return found;
    }
    tried.push(found);
  }
  throw new Error(
    `No Redis could be started here (${tried.join('; ')}): set REDIS_URL to an existing one, or install redis.`,
  );
}

type RedisFinder = (dataDir: string, log: (line: string) => void) => Promise<RedisBinary | string>;

const findOnPath: RedisFinder = async () => {
  const problems: string[] = [];
  for (const program of ['redis-server', 'valkey-server']) {
    const found = await tryRedisBinary(program, {}, (version) => `${program} ${version} on the PATH`);
    if (typeof found !== 'string') return found;
    if (!found.includes('ENOENT')) problems.push(found);
  }
  return problems.join('; ') || 'no redis-server or valkey-server on the PATH';
};

const findInPackages: RedisFinder = async (dataDir, log) => {
  const found = await unpackRedis(dataDir, log);
  if (typeof found === 'string') return found;
  return tryRedisBinary(
    found.file,
    found.env,
    (version) => `redis-server ${version} from ${found.distribution} packages`,
  );
};

const findInMemoryFallback: RedisFinder = async () => {
  try {
    createRequire(import.meta.url).resolve('js-redis-server');
  } catch {
    return 'the npm package js-redis-server is not installed';
  }
  const file = fileURLToPath(new URL('./memoryRedis.mjs', import.meta.url));
  return { file, env: {}, source: 'js-redis-server', keepsData: false };
};

async function tryRedisBinary(
  file: string,
  env: NodeJS.ProcessEnv,
  how: (version: string) => string,
): Promise<RedisBinary | string> {
  const answer = await runCommand(file, ['--version'], { env: { ...process.env, ...env } });
  const version = /v=(\d+)\.(\d+)\.\d+/.exec(answer.stdout);
  if (!answer.ok || version === null) return `${file} does not start (${answer.problem || 'no version'})`;
  const [major, minor] = [Number(version[1]), Number(version[2])];
  if (major < 6 || (major === 6 && minor < 2)) return `${file} is ${version[0].slice(2)}, older than 6.2`;
  return { file, env, source: how(version[0].slice(2)), keepsData: true };
}

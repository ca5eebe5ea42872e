import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What a service that `npm start` runs on this machine leaves in its data folder, for the commands that look for it. */
export interface LocalService {
  /** Process id of its launcher. */
  pid: number;
  baseUrl: string;
  /** The variables that lead to its databases. */
  environment: Record<string, string>;
}

type Environment = Record<string, string | undefined>;

/** Name of that file, which exists while the service runs. */
export const LOCAL_SERVICE_FILE = 'service.json';

/** The folder that `npm start` keeps everything in; it may not exist. */
export function getDataDir(env: Environment): string {
  return resolve(env['DATA_DIR']?.trim() || '.data');
}

/** The service that runs on a data folder; undefined where none does. */
export function findLocalService(dataDir: string): LocalService | undefined {
  const file = join(dataDir, LOCAL_SERVICE_FILE);
  if (!existsSync(file)) return undefined;
  try {
    const service: LocalService = JSON.parse(readFileSync(file, 'utf8'));
    return isRunning(service.pid) ? service : undefined;
  } catch {
    // A kill left half of it.
    return undefined;
  }
}

/**
 * The environment of a command that is run by hand: where neither database is set, that of the service that runs on the
 * data folder. Never in production, and never one of the two.
 * @param onFound is told whose databases are used.
 */
export function withLocalService(env: Environment, onFound: (service: LocalService) => void): Environment {
  const isSet = (name: string) => (env[name]?.trim() ?? '') !== '';
  if (isSet('DATABASE_URL') || isSet('REDIS_URL') || env['NODE_ENV'] === 'production') return env;
  const service = findLocalService(getDataDir(env));
  if (service === undefined) return env;
  onFound(service);
  return { ...env, ...service.environment };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

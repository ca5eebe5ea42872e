import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Address and environment of a service started with `npm start`, stored in its data folder for the other commands. */
export interface LocalService {
  /** Process id of its launcher. */
  pid: number;
  baseUrl: string;
  /** Environment variables with the addresses of its databases. */
  environment: Record<string, string>;
}

type Environment = Record<string, string | undefined>;

/** Name of the file that holds it. The file exists while the service runs. */
export const LOCAL_SERVICE_FILE = 'service.json';

/** Returns the data folder of `npm start`. It may not exist. */
export function getDataDir(env: Environment): string {
  return resolve(env['DATA_DIR']?.trim() || '.data');
}

/** Finds the service that runs on a data folder. */
export function findLocalService(dataDir: string): LocalService | undefined {
  const file = join(dataDir, LOCAL_SERVICE_FILE);
  if (!existsSync(file)) return undefined;
  try {
    const service: LocalService = JSON.parse(readFileSync(file, 'utf8'));
    return isRunning(service.pid) ? service : undefined;
  } catch {
    // A killed process can leave a partly written file.
    return undefined;
  }
}

/**
 * Adds the databases of the locally running service to a command's environment, unless DATABASE_URL or REDIS_URL is
 * set or NODE_ENV is production.
 * @param onFound called with the service whose databases are used.
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

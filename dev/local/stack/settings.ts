import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseUpstreams } from '../../../shared/gateways/upstreams/upstreamConfig.ts';
import { type Config, parseConfig } from '../../../shared/lib/config.ts';
import { getDataDir } from '../../../shared/lib/localService.ts';
import { getErrorCode, getErrorMessage } from '../servers/errorDetails.ts';
import { findFreePort } from '../servers/ports.ts';
import { validateMetricsPorts } from './metricsPorts.ts';
import { decideUpstreams, validateUpstreamKeys, type UpstreamPlan } from './upstreamPlan.ts';

/** Settings of the local stack. */
export interface Settings {
  /** Absolute path of an existing folder. */
  dataDir: string;
  /** Configuration of the service, still without the addresses of the servers that the launcher starts. */
  config: Readonly<Config>;
  /** Addresses of existing servers, which are not started here. */
  externalUrls: { databaseUrl?: string; redisUrl?: string };
  upstreams: UpstreamPlan;
}

/** Placeholders for the real addresses, so that everything else can be validated before anything starts. */
const PLACEHOLDER_URLS = { DATABASE_URL: 'postgres://pending', REDIS_URL: 'redis://pending' };

/** Loads variables from `.env` in the current folder that are not set in the environment. */
export function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  try {
    process.loadEnvFile('.env');
  } catch (error) {
    throw new Error(`The file .env cannot be read (${getErrorMessage(error)}).`, { cause: error });
  }
}

/**
 * Reads the settings from the environment. Variables that the service would reject are rejected here, with the same
 * message.
 * @throws Error if a variable is invalid.
 */
export async function readSettings(): Promise<Settings> {
  const env = process.env;
  const given = { databaseUrl: readEnv('DATABASE_URL'), redisUrl: readEnv('REDIS_URL') };
  for (const [name, value] of Object.entries(PLACEHOLDER_URLS)) env[name] = readEnv(name) ?? value;
  // The local sign-in needs no proof of identity, so that only this machine has access unless HOST says otherwise.
  env['HOST'] = readEnv('HOST') ?? '127.0.0.1';
  // Only this machine needs the metrics, which are open to all clients without METRICS_TOKEN.
  env['METRICS_HOST'] = readEnv('METRICS_HOST') ?? '127.0.0.1';
  if (readEnv('PORT') === '0') env['PORT'] = String(await findFreePort());
  const delayMs = readEnv('SAMPLE_DELAY_MS');
  if (delayMs !== undefined && !/^\d{1,7}$/.test(delayMs)) {
    throw new Error('SAMPLE_DELAY_MS must be a whole number of milliseconds.');
  }
  const config = parseConfig(env);
  const upstreams = decideUpstreams(config, parseUpstreams(config), env);
  validateUpstreamKeys(upstreams);
  validateMetricsPorts(config);
  return { dataDir: resolveDataDir(getDataDir(env)), config, externalUrls: given, upstreams };
}

/**
 * Checks that the API will be able to listen.
 * @throws Error with the name PORT.
 */
export async function assertPortFree({ PORT, HOST }: Config): Promise<void> {
  const problem = await new Promise<Error | null>((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen(PORT, HOST, () => server.close(() => done(null)));
  });
  if (problem === null) return;
  if (getErrorCode(problem) === 'EADDRINUSE') {
    throw new Error(`Port ${PORT} is in use by another program: stop it, or set PORT to a free one.`, {
      cause: problem,
    });
  }
  throw new Error(`Port ${PORT} of ${HOST} cannot be opened (${problem.message}): set PORT or HOST.`, {
    cause: problem,
  });
}

function readEnv(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}

function resolveDataDir(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true });
    return realpathSync(dataDir);
  } catch (error) {
    throw new Error(
      `The data folder ${dataDir} cannot be created (${getErrorMessage(error)}): set DATA_DIR to another one.`,
      {
        cause: error,
      },
    );
  }
}

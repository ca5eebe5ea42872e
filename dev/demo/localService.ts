import { join } from 'node:path';
import { findLocalService } from '../../shared/lib/localService.ts';
import { ROOT } from '../local/environment/build.ts';
import { startWrappedProgram } from '../local/stack/program.ts';
import { probeService, isServiceReady, waitForService } from '../local/stack/serviceProbe.ts';

const ENV_WITHOUT_PAYMENTS = { STRIPE_SECRET_KEY: '' };
const START_TIMEOUT_MS = 120_000;

/** Stops what was started for the demo. Does nothing if the service was running before. */
export type StopService = () => Promise<void>;

/** The address of the service for the demo. */
export interface ServiceTarget {
  baseUrl: string;
  dataDir: string;
  /** True if `npm start` would serve this address. */
  canStart: boolean;
  /** True if the address was given on the command line: the service may then be another installation. */
  isExplicit: boolean;
}

/**
 * Ensures that the service answers at an address. If nothing listens there, starts it, provided that `npm start` would
 * use this address.
 * @param onStarted called as soon as there is a service to stop.
 * @throws Error if another program, or a service of another installation, answers there, or if the start fails.
 */
export async function ensureServiceRunning(
  { baseUrl, dataDir, canStart, isExplicit }: ServiceTarget,
  onStarted: (stop: StopService) => void,
): Promise<void> {
  const response = await probeService(baseUrl);
  if (response.kind === 'stranger') {
    throw new Error(`Another program responds at ${baseUrl} (${response.what}): set PORT to a free one, or BASE_URL.`);
  }
  if (response.kind === 'service') {
    if (!isExplicit && findLocalService(dataDir)?.baseUrl !== baseUrl) {
      throw new Error(
        `The service at ${baseUrl} was not started on ${dataDir}. The demo would sign in there and subscribe: to allow that, run npm run demo -- --url ${baseUrl}`,
      );
    }
    if (!isServiceReady(response)) await waitUntilServiceReady(baseUrl, () => false);
    console.log(`Using the service: ${baseUrl}`);
    return;
  }
  if (!canStart) throw new Error(`Nothing responds at ${baseUrl}: start the service there, or unset BASE_URL.`);
  console.log(`Nothing responds at ${baseUrl}: starting the service for this demo ...`);
  await startLocalService(baseUrl, onStarted);
}

/**
 * Runs `npm start` in the background, in a process group of its own, so that Ctrl-C reaches it only once, through this
 * process.
 */
async function startLocalService(baseUrl: string, onStarted: (stop: StopService) => void): Promise<void> {
  // The demo must not charge a card: an empty value also overrides .env.
  const env = { ...process.env, ...ENV_WITHOUT_PAYMENTS };
  const start = startWrappedProgram(join(ROOT, 'dev/local/start.ts'), [], env);
  const problems: string[] = [];
  start.child.stdout?.resume();
  start.child.stderr?.setEncoding('utf8').on('data', (text: string) => problems.push(text));
  onStarted(async () => void (await start.stop()));
  try {
    await waitUntilServiceReady(baseUrl, () => !start.isRunning);
  } catch (error) {
    throw problems.length > 0 ? new Error(problems.join('').trim(), { cause: error }) : error;
  }
}

async function waitUntilServiceReady(baseUrl: string, isAborted: () => boolean): Promise<void> {
  const waitingNotice = setTimeout(() => console.log('Waiting for all models to be online ...'), 8_000);
  const response = await waitForService(baseUrl, START_TIMEOUT_MS, isAborted);
  clearTimeout(waitingNotice);
  if (isServiceReady(response)) return;
  if (response.kind !== 'service') throw new Error(`No response from the service: ${baseUrl}`);
  const offline = response.models.filter(({ status }) => status === 'offline').map(({ slug }) => slug);
  throw new Error(
    `${offline.join(' and ') || 'Some model'} is offline: see the log of the worker, and check its upstream.`,
  );
}

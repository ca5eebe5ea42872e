import { join } from 'node:path';
import { getErrorMessage } from '../servers/errorDetails.ts';
import { isDevSignInAllowed } from '../../../shared/lib/signInSettings.ts';
import { acquireLauncherLock } from './launcherLock.ts';
import { type DatabaseServer, migrateDatabase, openPostgres, openRedis } from './databases.ts';
import { terminateOrphanedPrograms, openPidFile } from './pidFile.ts';
import { collectMetricsPorts, formatMetricsRows, buildMetricsEnv, type MetricsPorts } from './metricsPorts.ts';
import { buildMailEnv, buildWebhookEnv, type MailboxLaunchOptions, prepareMailbox } from './mailPlan.ts';
import { type StackProgram, superviseProgram } from './program.ts';
import { type ServiceProbe, isServiceReady, waitForService } from './serviceProbe.ts';
import { removeServiceRecord, writeServiceRecord } from './serviceRecord.ts';
import { assertPortFree, type Settings } from './settings.ts';
import { listenForStopRequest, type StopRequest } from './stopRequest.ts';
import {
  formatBrowserAddresses,
  formatAddress,
  alignColumns,
  formatDatabaseRow,
  formatFirstSteps,
  shortenPath,
} from './startupSummary.ts';
import { formatUpstreamRows, prepareSampleUpstream, buildSampleEnv } from './upstreamPlan.ts';

const START_TIMEOUT_MS = 60_000;

/** Running programs and servers, in the order in which they are stopped; each list in parallel. */
interface Running {
  service: StackProgram[];
  upstream: StackProgram[];
  databases: DatabaseServer[];
}

/** The servers that the service was started with. */
interface StartedServers {
  postgres: DatabaseServer;
  redis: DatabaseServer;
  /** Address of the sample upstream; null if it is not needed. */
  sampleUrl: string | null;
  /** The local mailbox; null if SMTP_URL names a mail server. */
  mailbox: MailboxLaunchOptions | null;
  metricsPorts: MetricsPorts;
}

type StartProgram = (name: string, main: string, env: NodeJS.ProcessEnv) => StackProgram;

/**
 * Runs the whole service until a stop is requested.
 * @returns the exit status.
 * @throws Error with a sentence for the user if it cannot be started, after stopping everything that did start.
 */
export async function runStack(settings: Settings): Promise<number> {
  const { dataDir, config } = settings;
  await acquireLauncherLock(dataDir, `process ${process.pid}, ${config.BASE_URL}`);
  await terminateOrphanedPrograms(dataDir);
  await assertPortFree(config);

  const running: Running = { service: [], upstream: [], databases: [] };
  const stopRequest = listenForStopRequest(() =>
    [...running.service, ...running.upstream].forEach((program) => program.kill()),
  );
  const pidFile = openPidFile(dataDir);
  const metricsPorts = collectMetricsPorts(config);
  const start: StartProgram = (name, main, env) =>
    superviseProgram({
      name,
      main,
      env,
      dataDir,
      pidFile,
      onLine: (line) => metricsPorts.readLogLine(name, line),
      onGiveUp: (reason) => stopRequest.request(1, reason),
    });
  try {
    await startEverything(settings, running, { start, metricsPorts }, stopRequest);
    return await stopRequest.requested;
  } finally {
    stopRequest.request(1);
    await stopAll(running);
    pidFile.clear();
    removeServiceRecord(dataDir);
  }
}

/** Starts everything, unless a stop is requested first, and prints a summary. */
async function startEverything(
  settings: Settings,
  running: Running,
  { start, metricsPorts }: { start: StartProgram; metricsPorts: MetricsPorts },
  stopRequest: StopRequest,
): Promise<void> {
  console.log(`Starting; all data is in ${shortenPath(settings.dataDir)} ...`);
  const sampleUrl = await startSampleProgram(settings, running, start);
  const mailbox = await prepareMailbox(settings.dataDir, settings.config);
  if (mailbox !== null) running.upstream.push(start('mailbox', 'dev/local/mail/main.ts', mailbox.env));
  const mailEnv = buildMailEnv(mailbox, settings.config);
  const [redis, postgres] = await openDatabases(settings, running);
  if (stopRequest.isRequested()) return;
  await migrateDatabase(postgres.url, settings.config);
  if (stopRequest.isRequested()) return;

  const env = {
    ...process.env,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    ...buildSampleEnv(settings.upstreams, sampleUrl, settings.config.UPSTREAMS),
    TEST_UPSTREAM_URL: settings.config.TEST_UPSTREAM_URL ?? sampleUrl ?? '',
    ...mailEnv,
    ...buildWebhookEnv(settings.config),
    MEDIA_DIR: process.env['MEDIA_DIR']?.trim() || join(settings.dataDir, 'media'),
  };
  writeServiceRecord(settings.dataDir, {
    pid: process.pid,
    baseUrl: settings.config.BASE_URL,
    environment: { ...buildCommandEnv(settings.config, postgres.url, redis.url), ...mailEnv },
  });
  for (const name of ['worker', 'api'] as const) {
    running.service.push(start(name, `${name}/main.ts`, { ...env, ...buildMetricsEnv(name, settings.config) }));
  }
  const answer = await waitForService(getLocalAddress(settings), START_TIMEOUT_MS, () => stopRequest.isRequested());
  if (!stopRequest.isRequested()) {
    await printSummary(settings, { postgres, redis, sampleUrl, mailbox, metricsPorts }, answer);
  }
}

/** Starts the sample upstream, if any model uses it, or test mode. */
async function startSampleProgram(settings: Settings, running: Running, start: StartProgram): Promise<string | null> {
  if (!settings.upstreams.needsSample && settings.config.TEST_UPSTREAM_URL !== undefined) return null;
  const { url, env } = await prepareSampleUpstream(settings.dataDir);
  running.upstream.push(start('upstream', 'dev/sampleUpstream/main.ts', env));
  return url;
}

/** Waits for both databases even if one fails: the other one has to be stopped. */
async function openDatabases(
  settings: Settings,
  running: Running,
): Promise<[redis: DatabaseServer, postgres: DatabaseServer]> {
  const opening = [openRedis, openPostgres].map(async (open) => {
    const database = await open(settings, console.log);
    running.databases.push(database);
    return database;
  });
  await Promise.allSettled(opening);
  const [redis, postgres] = await Promise.all(opening);
  return [redis!, postgres!];
}

async function printSummary(
  settings: Settings,
  { postgres, redis, sampleUrl, mailbox, metricsPorts }: StartedServers,
  answer: ServiceProbe,
): Promise<void> {
  const { dataDir, config } = settings;
  const logs = `${shortenPath(join(dataDir, 'logs'))}/`;
  if (answer.kind !== 'service') throw new Error(`The API did not respond within a minute: see ${logs}api.log.`);
  const node = `node ${process.versions.node}`;
  const parts = [
    formatDatabaseRow(postgres),
    formatDatabaseRow(redis),
    ...formatUpstreamRows(settings.upstreams, sampleUrl),
    ['Worker', answer.version, '-', node],
    ['API', answer.version, config.BASE_URL, `${node}, listening on ${config.HOST}:${config.PORT}`],
    ...(await formatMetricsRows(config, metricsPorts)),
  ];
  console.log(`\n${alignColumns(parts)}\n`);
  if (!isServiceReady(answer)) {
    const states = answer.models.map(({ slug, status }) => `${slug} is ${status}`).join(', ');
    console.error(`Not all models are available (${states || 'their status is unknown'}): see ${logs}worker.log.\n`);
  }
  console.log(`${formatBrowserAddresses(config, mailbox?.pageUrl)}\n`);
  if (isDevSignInAllowed(config)) console.log(`${formatFirstSteps(config, dataDir)}\n`);
  console.log(`Logs are in ${logs}; Ctrl-C stops everything.`);
}

/** Variables for `npm run admin` and `npm run check` to work with the same databases. */
function buildCommandEnv(
  { REDIS_PREFIX, REDIS_TLS }: Settings['config'],
  postgresUrl: string,
  redisUrl: string,
): Record<string, string> {
  return {
    DATABASE_URL: postgresUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX,
    REDIS_TLS,
  };
}

async function stopAll({ service, upstream, databases }: Running): Promise<void> {
  console.log('\nStopping ...');
  for (const parts of [service, upstream, databases]) {
    const results = await Promise.allSettled(parts.map((part) => part.stop()));
    for (const result of results) if (result.status === 'rejected') console.error(getErrorMessage(result.reason));
  }
  console.log('Stopped.');
}

/** Address of the API on this machine, whatever its public address is. */
function getLocalAddress({ config: { HOST, PORT } }: Settings): string {
  return formatAddress(HOST, PORT);
}

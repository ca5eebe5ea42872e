import { join } from 'node:path';
import { messageOf } from '../servers/failures.ts';
import { offersLocalSignIn } from '../../shared/lib/signInSettings.ts';
import { claimDataDir } from './claim.ts';
import { type Database, migrateDatabase, openPostgres, openRedis } from './databases.ts';
import { endLeftovers, openProcessRecord } from './leftovers.ts';
import { collectMetricsPorts, describeMetrics, metricsVariables, type MetricsPorts } from './metrics.ts';
import { type Program, startProgram } from './program.ts';
import { type Answer, isReady, waitForService } from './service.ts';
import { removeServiceRecord, writeServiceRecord } from './serviceRecord.ts';
import { requireFreePort, type Settings } from './settings.ts';
import { awaitStopRequest, type StopRequest } from './stopRequest.ts';
import { addresses, addressOf, align, describeDatabase, firstSteps, shortPath } from './summary.ts';
import { describeUpstreams, prepareSample, sampleVariables } from './upstreams.ts';

const LONGEST_START_MS = 60_000;

/** What runs, in the order in which it is stopped; each list at once. */
interface Running {
  service: Program[];
  upstream: Program[];
  databases: Database[];
}

/** What the service was started with. */
interface Surroundings {
  postgres: Database;
  redis: Database;
  /** Where the sample upstream is; null where it is not needed. */
  sampleUrl: string | null;
  metricsPorts: MetricsPorts;
}

type Start = (name: string, main: string, env: NodeJS.ProcessEnv) => Program;

/**
 * Runs the whole service until it is asked to stop.
 * @returns the exit status.
 * @throws Error in words when it cannot be started; what did start has been stopped then.
 */
export async function runStack(settings: Settings): Promise<number> {
  const { dataDir, config } = settings;
  await claimDataDir(dataDir, `process ${process.pid}, ${config.BASE_URL}`);
  await endLeftovers(dataDir);
  await requireFreePort(config);

  const running: Running = { service: [], upstream: [], databases: [] };
  const request = awaitStopRequest(() =>
    [...running.service, ...running.upstream].forEach((program) => program.kill()),
  );
  const record = openProcessRecord(dataDir);
  const metricsPorts = collectMetricsPorts(config);
  const start: Start = (name, main, env) =>
    startProgram({
      name,
      main,
      env,
      dataDir,
      record,
      onLine: (line) => metricsPorts.read(name, line),
      onGivenUp: (reason) => request.make(1, reason),
    });
  try {
    await startAll(settings, running, { start, metricsPorts }, request);
    return await request.made;
  } finally {
    request.make(1);
    await stopAll(running);
    record.clear();
    removeServiceRecord(dataDir);
  }
}

/** Starts everything, unless it is asked to stop before that is done, and tells what runs. */
async function startAll(
  settings: Settings,
  running: Running,
  { start, metricsPorts }: { start: Start; metricsPorts: MetricsPorts },
  request: StopRequest,
): Promise<void> {
  console.log(`Starting; everything is kept in ${shortPath(settings.dataDir)} ...`);
  const sampleUrl = await startSample(settings, running, start);
  const [redis, postgres] = await openDatabases(settings, running);
  if (request.isMade()) return;
  await migrateDatabase(postgres.url);
  if (request.isMade()) return;

  const env = {
    ...process.env,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    ...sampleVariables(settings.upstreams, sampleUrl),
    MEDIA_DIR: process.env['MEDIA_DIR']?.trim() || join(settings.dataDir, 'media'),
  };
  writeServiceRecord(settings.dataDir, {
    pid: process.pid,
    baseUrl: settings.config.BASE_URL,
    environment: commandVariables(settings.config, postgres.url, redis.url),
  });
  for (const name of ['worker', 'api'] as const) {
    running.service.push(start(name, `${name}/main.ts`, { ...env, ...metricsVariables(name, settings.config) }));
  }
  const answer = await waitForService(localAddress(settings), LONGEST_START_MS, () => request.isMade());
  if (!request.isMade()) await tell(settings, { postgres, redis, sampleUrl, metricsPorts }, answer);
}

/** Starts the sample upstream, if any model is to be made there. */
async function startSample(settings: Settings, running: Running, start: Start): Promise<string | null> {
  if (!settings.upstreams.needsSample) return null;
  const { url, env } = await prepareSample(settings.dataDir);
  running.upstream.push(start('upstream', 'dev/upstream/main.ts', env));
  return url;
}

/** Waits for both databases, also where one fails: the one that did start is to be stopped. */
async function openDatabases(settings: Settings, running: Running): Promise<[redis: Database, postgres: Database]> {
  const opening = [openRedis, openPostgres].map(async (open) => {
    const database = await open(settings, console.log);
    running.databases.push(database);
    return database;
  });
  await Promise.allSettled(opening);
  const [redis, postgres] = await Promise.all(opening);
  return [redis!, postgres!];
}

async function tell(
  settings: Settings,
  { postgres, redis, sampleUrl, metricsPorts }: Surroundings,
  answer: Answer,
): Promise<void> {
  const { dataDir, config } = settings;
  const logs = `${shortPath(join(dataDir, 'logs'))}/`;
  if (answer.kind !== 'service') throw new Error(`The API did not answer within a minute: see ${logs}api.log.`);
  const node = `node ${process.versions.node}`;
  const parts = [
    describeDatabase(postgres),
    describeDatabase(redis),
    ...describeUpstreams(settings.upstreams, sampleUrl),
    ['Worker', answer.version, '-', node],
    ['API', answer.version, config.BASE_URL, `${node}, listening on ${config.HOST}:${config.PORT}`],
    ...(await describeMetrics(config, metricsPorts)),
  ];
  console.log(`\n${align(parts)}\n`);
  if (!isReady(answer)) {
    const states = answer.models.map(({ slug, status }) => `${slug} is ${status}`).join(', ');
    console.error(`Not all models can be had (${states || 'nothing is known of them'}): see ${logs}worker.log.\n`);
  }
  console.log(`${addresses(config)}\n`);
  if (offersLocalSignIn(config)) console.log(`${firstSteps(config, dataDir)}\n`);
  console.log(`Logs are in ${logs}; ctrl-C stops everything.`);
}

/** What `npm run admin` and `npm run check` need to work with the same databases. */
function commandVariables(
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
    for (const result of results) if (result.status === 'rejected') console.error(messageOf(result.reason));
  }
  console.log('Stopped.');
}

/** Where the API is reached from this machine, whatever it is called from outside. */
function localAddress({ config: { HOST, PORT } }: Settings): string {
  return addressOf(HOST, PORT);
}

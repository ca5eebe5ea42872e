import { join } from 'node:path';
import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { findLocalService, getDataDir } from '../../shared/lib/localService.ts';
import { getErrorCode, getErrorMessage } from '../local/servers/errorDetails.ts';
import { loadEnvFile } from '../local/stack/settings.ts';
import { type DemoClient, createDemoClient, DemoRequestError } from './client.ts';
import { openProgressDisplay } from './progressDisplay.ts';
import { type Generation, generateAndWait, type DemoGeneration } from './generate.ts';
import { verifyLedgerSum, readWholeLedger, formatLedgerTable } from './ledger.ts';
import { downloadOutput, expectMp4, expectPng } from './outputs.ts';
import { ensureServiceRunning, type StopService } from './localService.ts';

const USAGE = `npm run demo -- [options]

Acts as a client: signs in as a new user, subscribes, creates an image, a video and a generation that fails, downloads
the outputs, and verifies the ledger. It uses the service that npm start runs in this folder. If none is running, it
starts one and stops it afterwards.

  --url <address>  use the service at this address, wherever it was started`;

const PLAN = 'pro';
const DEMO_GENERATIONS: DemoGeneration[] = [
  { name: 'image', model: 'imgmodel-2', prompt: 'A lighthouse at dusk', params: { resolution: '1K' } },
  {
    name: 'video',
    model: 'vidmodel-video',
    prompt: 'Waves rolling in below a lighthouse',
    params: { duration: 5, resolution: '720p', audio: true },
  },
  {
    name: 'failing',
    model: 'vidmodel-video',
    prompt: 'A lighthouse that cannot be [fail]',
    params: { duration: 5, resolution: '720p' },
  },
];

/** `npm run demo`: uses a running service as a client would, through its public HTTP API alone. */
async function runDemo(baseUrl: string, folder: string): Promise<void> {
  const client = createDemoClient(baseUrl, (seconds) => console.log(`  Rate limited: waiting ${seconds} s.`));
  await prepareAccount(client);
  await printProviders(client);
  console.log('\nAn image, a video of 5 s and a generation that fails, in parallel:\n');
  const [image, video, failing] = await generateAll(client);

  console.log('\nDownloaded and verified:\n');
  for (const output of [
    await downloadOutput(getOutputUrl(image), folder, 'image.png', expectPng(1024, 1024)),
    await downloadOutput(getOutputUrl(video), folder, 'video.mp4', expectMp4(1280, 720, 5)),
  ]) {
    console.log(`  ${output.file}  ${output.description}`);
  }
  if (failing?.status !== 'failed') {
    throw new Error('The generation with [fail] in its prompt did not fail: only the sample upstream supports [fail].');
  }

  const entries = await readWholeLedger(client);
  const { credits } = await client.get<{ credits: { balance: number } }>('/api/usage/summary/');
  console.log(`\nThe ledger:\n\n${formatLedgerTable(entries)}\n\n  ${verifyLedgerSum(entries, credits.balance)}`);
}

/**
 * Signs in with a new account, so that the ledger shows this run alone, activates a plan and switches to an API key.
 */
async function prepareAccount(client: DemoClient): Promise<void> {
  const email = `demo-${new Date().toISOString().replaceAll(/\D/g, '').slice(0, 17)}@example.com`;
  await client.post('/authentication/dev/sign-in/', { email });
  await client.post('/api/billing/checkout/', { plan: PLAN });
  const { key, prefix } = await client.post<{ key: string; prefix: string }>('/api/keys/create/', { name: 'Demo' });
  client.useKey(key);
  console.log(`Signed in as ${email} on the plan ${PLAN}, with the API key ${prefix}...`);
}

/** Prints the provider of each model, from the public endpoint. */
async function printProviders(client: DemoClient): Promise<void> {
  const { data } = await client.get<{ data: { slug: string; provider: string; status: string }[] }>('/api/models/');
  for (const { slug, provider, status } of data) console.log(`${slug} uses ${provider} and is ${status}`);
}

async function generateAll(client: DemoClient): Promise<Generation[]> {
  const names = DEMO_GENERATIONS.map(({ name }) => name);
  const display = openProgressDisplay(names, process.stdout);
  try {
    return await Promise.all(DEMO_GENERATIONS.map((order) => generateAndWait(client, order, display)));
  } finally {
    display.close();
  }
}

function getOutputUrl(generation: Generation | undefined): string {
  if (generation?.output_url) return generation.output_url;
  throw new Error(
    `A generation that should have succeeded did not: ${generation?.error_message ?? 'it has no output'}.`,
  );
}

function describeError(error: unknown): string {
  if (error instanceof DemoRequestError && error.status === 404) {
    return `${error.message}: the local sign-in is off in production and with a sign-in provider.`;
  }
  const cause = error instanceof Error ? getErrorCode(error.cause) : undefined;
  return cause === undefined ? getErrorMessage(error) : `The service is unreachable (${cause}).`;
}

let stopService: StopService = async () => {};
let isEnding = false;

async function stopAndExit(status: number): Promise<never> {
  isEnding = true;
  await stopService();
  process.exit(status);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => isEnding || void stopAndExit(130));

const { url } = readCommandLine('npm run demo', USAGE, { url: { type: 'string' } });
try {
  loadEnvFile();
  const given = (url ?? process.env['BASE_URL'])?.trim().replace(/\/+$/, '');
  const ownUrl = `http://localhost:${process.env['PORT']?.trim() || 3000}`;
  const dataDir = getDataDir(process.env);
  // The service that runs in this folder may have another port than the one that it would start with now.
  const baseUrl = given || (findLocalService(dataDir)?.baseUrl ?? ownUrl);
  if (!URL.canParse(baseUrl)) throw new Error(`${baseUrl} is not a URL such as http://localhost:3000.`);
  await ensureServiceRunning(
    { baseUrl, dataDir, canStart: baseUrl === ownUrl, isExplicit: url !== undefined },
    (stop) => (stopService = stop),
  );
  await runDemo(baseUrl, join(dataDir, 'demo'));
  await stopAndExit(0);
} catch (error) {
  console.error(`\n${describeError(error)}`);
  await stopAndExit(1);
}

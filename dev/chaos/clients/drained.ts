import { isDeepStrictEqual } from 'node:util';
import { type Api, call } from './api.ts';
import { tryRevokedKey } from './actions/keys.ts';
import { downloadOutput, readGeneration } from './actions/generations.ts';
import { readLedgerPage, readUsageSummary } from './actions/lists.ts';
import {
  createClientState,
  report,
  retryUntilDone,
  type ClientOptions,
  type ClientState,
  type Step,
} from './clientState.ts';
import { getActiveKeys } from './customers.ts';
import { callWithSession } from './sessions.ts';
import { isGenerationEvent, parseWebhookBody, type WebhookBody } from './webhooks/messages.ts';

/** Number of samples per customer, where there are many, and of generations whose messages are compared with GET. */
const SAMPLE_SIZE = 6;
const MESSAGE_SAMPLE_SIZE = 12;
const MAX_ATTEMPTS = 10;

/** Repeats earlier reads. Violations are added to the journal. */
export async function checkDrained(options: ClientOptions, { journal, customers }: ClientState): Promise<void> {
  const state: ClientState = { ...createClientState(options), journal, customers };
  try {
    for (const customer of customers) {
      if (customer.uuid === null || getActiveKeys(customer).length === 0) continue;
      const random = customer.random.fork('drained');
      await checkCustomer({ state, customer, random, name: `drained ${customer.index}`, ids: 0 });
    }
  } finally {
    await state.agent.close();
  }
}

async function checkCustomer(step: Step): Promise<void> {
  const { state, customer } = step;
  await checkBalances(step);
  await checkWebhooks(step);
  for (const key of customer.keys.filter(({ revokedAt }) => revokedAt !== null).slice(-SAMPLE_SIZE)) {
    for (const address of state.addresses) await tryRevokedKey(step, key, address);
  }
  for (const uuid of customer.generations.slice(-SAMPLE_SIZE)) {
    const observed = state.journal.generations.get(uuid);
    if (observed === undefined) continue;
    const response = await readGeneration(step, observed);
    if (response.isGood && response.body.status === 'succeeded') await downloadOutput(step, observed);
  }
}

/** Compares the usage summary with the newest ledger entry; nothing is in progress that would change either. */
async function checkBalances(step: Step): Promise<void> {
  const { email } = step.customer;
  const compare = async () => {
    const usage = await readUsageSummary(step);
    const ledger = await readLedgerPage(step);
    if (usage === undefined || ledger === undefined) return false;
    if (usage !== ledger) report(step, 'balances-agree', email, `${usage} by usage, ${ledger} by ledger`);
    return true;
  };
  if (!(await retryUntilDone(step, compare, MAX_ATTEMPTS)))
    report(step, 'balances-agree', email, `neither could be read in ${MAX_ATTEMPTS} attempts`);
}

const getDefaultSecret = (api: Api) => api.send('GET /api/webhooks/default/secret/');

/** Fetches the keys of the default endpoint, and compares messages about generations with what GET answers. */
async function checkWebhooks(step: Step): Promise<void> {
  const { state, customer } = step;
  const { targets, messages, defaultKeys } = state.journal.webhooks;
  const own = messages.filter(({ token }) => targets.get(token)?.accountUuid === customer.uuid);
  const fetchKeys = async () => {
    const { isGood, body } = await callWithSession(step, 'default secret', getDefaultSecret);
    const keys = { secret: body?.secret, publicKey: body?.public_key, confirmedAt: Date.now() };
    if (isGood) defaultKeys.set(customer.uuid as string, keys);
    return isGood;
  };
  if (own.some(({ token }) => targets.get(token)?.endpoint === null))
    await retryUntilDone(step, fetchKeys, MAX_ATTEMPTS);
  const sent = new Map<string, WebhookBody>();
  for (const { body: text } of own) {
    const body = parseWebhookBody(text);
    if (body !== null && isGenerationEvent(body.type)) sent.set(String(body.data['uuid']), body);
  }
  for (const [uuid, body] of [...sent].slice(-MESSAGE_SAMPLE_SIZE))
    await retryUntilDone(step, () => compareWithGet(step, uuid, body), MAX_ATTEMPTS);
}

/** @returns false without a response. A client may have deleted the generation. */
async function compareWithGet(step: Step, uuid: string, { type, data }: WebhookBody): Promise<boolean> {
  const response = await call(step, 'read announced', (api) => api.generations.get(uuid), { expects: ['not_found'] });
  if (response.isGood && !isDeepStrictEqual(withPaths(data), withPaths({ ...response.body }))) {
    const detail = `${type} contained ${JSON.stringify(data)}, and GET returns ${response.text}`;
    report(step, 'webhook-data-equals-get', uuid, detail);
  }
  return response.isGood || response.status === 404;
}

const toPath = (url: unknown): unknown => (typeof url === 'string' ? new URL(url).pathname : url);

/** Reduces addresses to their paths: each process may build them with another origin. */
function withPaths(generation: WebhookBody['data']): WebhookBody['data'] {
  const { output_url: output, thumbnail_url: thumbnail } = generation;
  return { ...generation, output_url: toPath(output), thumbnail_url: toPath(thumbnail) };
}

import type { Generation } from '@genmeter/client';
import { check, checkEqual, checkRejected, readAll } from './check.ts';
import { IMAGE, IMAGE_CREDITS, type ProxyFault, type SuiteCase, type SuiteContext } from './context.ts';

/** Creates that are sent at a time. */
const CREATES = 4;
/** An attempt that the proxy delays ends after this. */
const TIMEOUT_MS = 1_500;

/** Effects of creates behind the proxy. */
interface Effects {
  /** UUIDs that the creates returned. */
  returned: string[];
  /** UUIDs of generations that exist. */
  existing: string[];
  /** Amounts of their ledger entries. */
  burns: number[];
  /** Credits that are missing in the balance. */
  spent: number;
}

/** Sends creates at the same time behind the proxy, and reads all that they have caused. */
async function createBehind(
  context: SuiteContext,
  fault: ProxyFault,
  times: number,
  { hasKeys = true } = {},
): Promise<Effects> {
  const direct = context.open('retries');
  const countBurns = async () => (await direct.ledger.list({ entry_type: 'burn' }).page()).pagination.total_items;
  const [{ balance }, burnsBefore] = [(await direct.usage.summary()).credits, await countBurns()];
  const options = { baseUrl: context.behind(fault, times), timeout: TIMEOUT_MS };
  const { generations } = context.open('retries', { ...options, ...(hasKeys ? {} : { fetch: fetchWithoutKey }) });
  const run = context.unique();
  const created = await Promise.all(
    Array.from({ length: CREATES }, (_, index) =>
      generations.create({ ...IMAGE, prompt: `Lighthouse ${index}`, metadata: { run } }),
    ),
  );
  const found: Generation[] = await readAll(direct.generations.list({ metadata: { run } }));
  for (const { uuid } of found) await direct.generations.wait(uuid);
  const { data } = await direct.ledger.list({ entry_type: 'burn' }).page();
  return {
    returned: created.map(({ uuid }) => uuid).toSorted(),
    existing: found.map(({ uuid }) => uuid).toSorted(),
    burns: data.slice(0, (await countBurns()) - burnsBefore).map(({ amount }) => amount),
    spent: balance - (await direct.usage.summary()).credits.balance,
  };
}

/** Sends requests as a client would that has no idempotency keys. */
const fetchWithoutKey: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.delete('idempotency-key');
  return fetch(input, { ...init, headers });
};

/**
 * Returns a fetch that loses its first response. Deno, Bun and browsers repeat a DELETE behind the proxy themselves,
 * and return the 404 of the second one.
 */
function createLosingFetch(): typeof fetch {
  let isFirst = true;
  return async (...args) => {
    const response = await fetch(...args);
    if (!isFirst) return response;
    isFirst = false;
    throw new TypeError('The response is lost.');
  };
}

const loses = (fault: ProxyFault, times: number, what: string): SuiteCase => ({
  title: `${CREATES} creates behind a proxy that ${what} are ${CREATES} generations and ${CREATES} burns`,
  run: async (context) => {
    const effects = await createBehind(context, fault, times);
    checkEqual(new Set(effects.returned).size, CREATES, 'returned generations');
    checkEqual(effects.existing, effects.returned, 'existing generations');
    checkEqual(effects.burns, Array.from({ length: CREATES }).fill(-IMAGE_CREDITS), 'burns');
    checkEqual(effects.spent, CREATES * IMAGE_CREDITS, 'credits');
  },
});

export const RETRY_CASES: SuiteCase[] = [
  loses('drop', 2, 'drops the first two responses to each'),
  loses('cut', 2, 'cuts the first two responses to each within the body'),
  loses('delay', 1, 'delays the first response to each beyond the timeout'),
  loses('refuse', 1, 'closes the first connection of each before the service receives it'),
  loses('unavailable', 1, 'responds with 503 to the first attempt of each'),
  {
    title: 'the same creates without idempotency keys are charged twice, so the cases above detect it',
    run: async (context) => {
      const effects = await createBehind(context, 'drop', 1, { hasKeys: false });
      // A browser repeats a request on a connection that was closed, which is one more.
      check(effects.existing.length >= 2 * CREATES, `${effects.existing.length} generations`);
      checkEqual(effects.burns.length, effects.existing.length, 'burns');
      checkEqual(effects.spent, effects.existing.length * IMAGE_CREDITS, 'credits');
    },
  },
  {
    title: 'a create with a key of the caller returns the generation of the first, also after the program has ended',
    run: async (context) => {
      const idempotencyKey = context.unique();
      const request = { ...IMAGE, prompt: 'A lighthouse', metadata: { run: idempotencyKey } };
      const baseUrl = context.behind('drop', 9);
      const lost = context.open('retries', { baseUrl, maxRetries: 0 }).generations.create(request, { idempotencyKey });
      await checkRejected(lost, { error: 'network_error', status: undefined });
      const { generations } = context.open('retries');
      const created = await generations.create(request, { idempotencyKey });
      const found = await readAll(generations.list({ metadata: request.metadata }));
      checkEqual(
        found.map(({ uuid }) => uuid),
        [created.uuid],
        'generations',
      );
      const other = generations.create({ ...request, prompt: 'A windmill' }, { idempotencyKey });
      await checkRejected(other, { error: 'validation_error', status: 400 });
      await generations.wait(created.uuid);
    },
  },
  {
    title: 'keys, webhooks and secrets are created once, and a generation is deleted, if the first response is lost',
    run: async (context) => {
      const direct = context.open('retries');
      const lossy = context.open('retries', { baseUrl: context.behind('drop', 1) });
      const name = context.unique();
      const { uuid: keyUuid, key } = await lossy.keys.create({ name });
      checkEqual((await readAll(direct.keys.list())).filter((one) => one.name === name).length, 1, 'keys');
      await context.openWith({ key }).usage.summary();
      await direct.keys.revoke(keyUuid);
      const { uuid: endpoint } = await lossy.webhooks.create({ url: `${context.settings.proxyUrl}/hooks/${name}` });
      await lossy.webhooks.rotateSecret(endpoint);
      checkEqual((await readAll(direct.webhooks.list())).length, 1, 'endpoints');
      const { uuid } = await direct.generations.create({ ...IMAGE, prompt: 'A lighthouse' });
      await direct.generations.wait(uuid);
      await context.open('retries', { fetch: createLosingFetch() }).generations.delete(uuid);
      await checkRejected(direct.generations.get(uuid), { error: 'not_found', status: 404 });
      // It may have been sent, so it is not repeated.
      const test = context.open('retries', { baseUrl: context.behind('unavailable', 1) }).webhooks.test(endpoint);
      await checkRejected(test, { error: 'internal_error', status: 503 });
      await direct.webhooks.delete(endpoint);
    },
  },
  {
    title: 'a rejected request is repeated after the time of Retry-After',
    run: async (context) => {
      const startedAt = Date.now();
      const { usage } = context.open('retries', { baseUrl: context.behind('busy', 1) });
      await usage.summary();
      check(Date.now() - startedAt >= 1_000, `repeated after ${Date.now() - startedAt} ms`);
    },
  },
];

import type { Genmeter, ServiceErrorCode } from '@genmeter/client';
import { check, checkEqual, checkRejected } from './check.ts';
import { IMAGE, type SuiteAccount, type SuiteCase, type SuiteContext } from './context.ts';

const UNKNOWN_UUID = '01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69';
const UNKNOWN_KEY = `svc_${'0'.repeat(40)}`;
/** Number of generations that the account `crowded` may have in progress. */
const PARALLEL_LIMIT = 2;

const createImage = ({ generations }: Genmeter, prompt = 'A lighthouse') => generations.create({ ...IMAGE, prompt });

/** Responses of the service, by code. `admin_required` is missing: only routes of staff return it. */
const REJECTIONS: Record<
  Exclude<ServiceErrorCode, 'admin_required'>,
  { status: number; provoke: (context: SuiteContext) => Promise<unknown> }
> = {
  validation_error: { status: 400, provoke: (context) => createImage(context.open('main'), '') },
  content_rejected: { status: 400, provoke: (context) => createImage(context.open('main'), '[forbidden]') },
  invalid_api_key: { status: 401, provoke: (context) => context.openWith({ key: UNKNOWN_KEY }).usage.summary() },
  insufficient_credits: { status: 402, provoke: (context) => createImage(context.open('poor')) },
  subscription_required: { status: 402, provoke: (context) => createImage(context.open('unsubscribed')) },
  spending_limit_reached: {
    status: 402,
    provoke: (context) =>
      withKey(context, { credit_limit: { credits: 1, period: 'total' } }, (client) => createImage(client)),
  },
  account_suspended: { status: 403, provoke: (context) => createImage(context.open('suspended')) },
  insufficient_scope: {
    status: 403,
    provoke: (context) => withKey(context, { scopes: ['svc:read'] }, (client) => createImage(client)),
  },
  not_found: { status: 404, provoke: (context) => context.open('main').generations.get(UNKNOWN_UUID) },
  parallel_limit_reached: { status: 409, provoke: fillSlots },
  rate_limited: { status: 429, provoke: exceedRate },
  model_unavailable: {
    status: 503,
    provoke: (context) =>
      patient(context, 'main').generations.create({
        model: 'gone',
        params: { resolution: '1K' },
        prompt: 'A lighthouse',
      }),
  },
  internal_error: {
    status: 503,
    provoke: (context) =>
      context.open('main', { baseUrl: context.behind('unavailable', 1), maxRetries: 0 }).usage.summary(),
  },
};

const patient = (context: SuiteContext, account: SuiteAccount) => context.open(account, { maxRetries: 0 });

/** Runs a request with a key that has options. */
async function withKey(
  context: SuiteContext,
  options: Partial<Parameters<Genmeter['keys']['create']>[0]>,
  send: (client: Genmeter) => Promise<unknown>,
): Promise<unknown> {
  const { keys } = context.open('main');
  const { uuid, key } = await keys.create({ name: context.unique(), ...options });
  try {
    return await send(context.openWith({ key }));
  } finally {
    await keys.revoke(uuid);
  }
}

async function fillSlots(context: SuiteContext): Promise<unknown> {
  const client = context.open('crowded');
  const created: string[] = [];
  try {
    for (let count = 0; count < PARALLEL_LIMIT; count += 1) {
      created.push((await createImage(client, '[wait] A lighthouse')).uuid);
    }
    return await createImage(client);
  } finally {
    for (const uuid of created) {
      await client.generations.cancel(uuid);
      await client.generations.wait(uuid);
    }
  }
}

async function exceedRate(context: SuiteContext): Promise<unknown> {
  const limited = context.open('limited', { baseUrl: context.settings.limitedUrl, maxRetries: 0 });
  const { uuid } = await createImage(limited);
  try {
    return await createImage(limited);
  } finally {
    await context.open('limited').generations.wait(uuid);
  }
}

export const ERROR_CASES: SuiteCase[] = [
  ...Object.entries(REJECTIONS).map(([error, { status, provoke }]) => ({
    title: `${error} is thrown with status ${status}, the detail and the request id`,
    run: async (context: SuiteContext) => {
      const thrown = await checkRejected(provoke(context), { error: error as ServiceErrorCode, status });
      check((thrown.requestId ?? '') !== '', 'no request id');
      const isTimed = status === 429 || error === 'internal_error';
      if (!isTimed) return;
      const { retryAfterMs = 0 } = thrown;
      check(retryAfterMs >= 1_000 && retryAfterMs <= 60_000, `Retry-After is ${retryAfterMs} ms`);
    },
  })),
  {
    title: 'network_error, timeout and unexpected_response are thrown without a response of the service',
    run: async (context) => {
      const { proxyUrl } = context.settings;
      const read = (baseUrl: string, timeout = 30_000) =>
        context.openWith({ baseUrl, timeout, maxRetries: 0 }).models.list().page();
      // Other runtimes than Node repeat reads and deletions on a closed connection themselves.
      const address = context.behind('refuse', 99);
      const closed = await checkRejected(read(address), { error: 'network_error' });
      check(closed.detail.includes(address), closed.detail);
      checkEqual([closed.status, closed.requestId], [undefined, undefined], 'no connection');
      await checkRejected(read(context.behind('delay', 1), 300), { error: 'timeout', status: undefined });
      await checkRejected(read(context.behind('cut', 99)), { error: 'network_error' });
      await checkRejected(read(context.behind('page', 1)), { error: 'unexpected_response', status: 502 });
      const redirected = await checkRejected(read(context.behind('redirect', 1)), { error: 'unexpected_response' });
      check(redirected.detail.includes('redirects'), redirected.detail);
      await checkRejected(read(`${proxyUrl}/nowhere`), { error: 'unexpected_response', status: 404 });
    },
  },
];

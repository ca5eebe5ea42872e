import type { Generation } from '@genmeter/client';
import { catchThrown, check, checkEqual, checkFields, checkRejected, readAll } from './check.ts';
import { IMAGE, IMAGE_CREDITS, type SuiteCase, type SuiteContext } from './context.ts';

/** Images of the account `reader`. */
export const READER_IMAGES = 45;
const PAGE_SIZE = 20;

export const GENERATION_CASES: SuiteCase[] = [
  {
    title: 'generations.create charges and queues, wait returns the end, and get returns the same',
    run: async (context) => {
      const { generations } = context.open('main');
      const created = await generations.create({ ...IMAGE, prompt: '[later] A lighthouse' });
      checkFields(created, { status: 'queued', kind: 'image', credits_charged: IMAGE_CREDITS }, 'created');
      const ended = await generations.wait(created.uuid);
      checkFields(ended, { uuid: created.uuid, status: 'succeeded', error_message: null }, 'ended');
      check(/^https?:\/\//.test(ended.output_url ?? ''), `output_url is ${ended.output_url}`);
      checkEqual(await generations.get(created.uuid), ended, 'get');
    },
  },
  {
    title: 'generations.wait returns a generation that failed, which was refunded',
    run: async (context) => {
      const { generations, usage } = context.open('main');
      const { balance } = (await usage.summary()).credits;
      const { uuid } = await generations.create({ ...IMAGE, prompt: '[fail] A lighthouse' });
      const ended = await generations.wait(uuid);
      checkEqual([ended.status, typeof ended.error_message], ['failed', 'string'], 'ended');
      checkEqual((await usage.summary()).credits.balance, balance, 'balance');
    },
  },
  {
    title: 'generations.wait ends after its timeout and with its signal, and the generation continues',
    run: async (context) => {
      const { generations } = context.open('main');
      const { uuid } = await generations.create({ ...IMAGE, prompt: '[wait] A lighthouse' });
      await checkRejected(generations.wait(uuid, { timeout: 200 }), { error: 'timeout', status: undefined });
      const controller = new AbortController();
      const reason = new Error('The caller has ended.');
      setTimeout(() => controller.abort(reason), 200);
      check((await catchThrown(generations.wait(uuid, { signal: controller.signal }))) === reason, 'another reason');
      checkEqual((await generations.get(uuid)).status, 'queued', 'status');
      await cancel(context, uuid);
    },
  },
  {
    title: 'generations.cancel ends and refunds a queued generation, and returns an ended one as it is',
    run: async (context) => {
      const { generations, ledger } = context.open('main');
      const { uuid } = await generations.create({ ...IMAGE, prompt: '[wait] A lighthouse' });
      checkEqual((await generations.cancel(uuid)).uuid, uuid, 'uuid');
      const ended = await generations.wait(uuid);
      checkFields(ended, { status: 'failed', error_message: 'Canceled.' }, 'ended');
      checkEqual(await generations.cancel(uuid), ended, 'canceled again');
      const [refund] = (await ledger.list({ entry_type: 'refund' }).page()).data;
      checkEqual(refund?.amount, IMAGE_CREDITS, 'refund');
    },
  },
  {
    title: 'generations.estimate returns the price that create charges, and max_credits limits it',
    run: async (context) => {
      const { generations, usage } = context.open('main');
      const request = { ...IMAGE, prompt: 'A lighthouse' };
      const { balance } = (await usage.summary()).credits;
      const estimate = await generations.estimate(request);
      checkFields(
        estimate,
        { credits: IMAGE_CREDITS, balance, balance_after: balance - IMAGE_CREDITS, affordable: true, refusal: null },
        'estimate',
      );
      checkEqual((await usage.summary()).credits.balance, balance, 'balance after the estimate');
      const expensive = generations.create({ ...request, max_credits: IMAGE_CREDITS - 1 });
      await checkRejected(expensive, { error: 'validation_error', status: 400 });
      const { uuid, credits_charged: charged } = await generations.create({ ...request, max_credits: IMAGE_CREDITS });
      checkEqual(charged, IMAGE_CREDITS, 'credits_charged');
      await generations.wait(uuid);
    },
  },
  {
    title: 'generations.list filters by metadata, kind, model, status and time',
    run: async (context) => {
      const { generations } = context.open('main');
      const metadata = { run: context.unique(), 'note & more': 'ä=b' };
      const { uuid, created_at: at } = await generations.create({ ...IMAGE, prompt: 'A lighthouse', metadata });
      await generations.wait(uuid);
      const find = async (filters: object): Promise<string[]> =>
        (await readAll(generations.list({ metadata, ...filters }))).map((one) => one.uuid);
      const later = new Date(Date.parse(at) + 1_000).toISOString();
      for (const filters of [
        {},
        { kind: 'image' },
        { model: IMAGE.model, status: 'succeeded' },
        { created_after: at },
        { created_before: later },
      ])
        checkEqual(await find(filters), [uuid], JSON.stringify(filters));
      for (const filters of [
        { kind: 'video' },
        { status: 'failed' },
        { created_after: later },
        { created_before: at },
        { metadata: { run: 'another' } },
      ])
        checkEqual(await find(filters), [], JSON.stringify(filters));
    },
  },
  {
    title: 'generations.list is read page by page, newest first, as far as the loop goes',
    run: async (context) => {
      let requests = 0;
      const counting: typeof fetch = (...args) => {
        requests += 1;
        return fetch(...args);
      };
      const list = context.open('reader', { fetch: counting }).generations.list();
      checkEqual(requests, 0, 'requests before the loop');
      const prompts = (await readAll(list)).map(({ prompt }: Generation) => Number(prompt));
      const expected = Array.from({ length: READER_IMAGES }, (_, index) => READER_IMAGES - index);
      checkEqual(prompts, expected, 'prompts');
      checkEqual(requests, Math.ceil(READER_IMAGES / PAGE_SIZE), 'requests of the whole list');
      for await (const { prompt } of list) if (Number(prompt) === READER_IMAGES - 1) break;
      checkEqual(requests, Math.ceil(READER_IMAGES / PAGE_SIZE) + 1, 'requests of the first items');
      const { data, pagination } = await list.page(3);
      checkEqual(data.length, READER_IMAGES - 2 * PAGE_SIZE, 'items of the last page');
      checkFields(pagination, { current_page: 3, total_pages: 3, total_items: READER_IMAGES, next: null }, 'page 3');
      checkEqual((await list.page(4)).data, [], 'page 4');
    },
  },
  {
    title: 'generations.delete removes a generation from the list, without a refund',
    run: async (context) => {
      const { generations, usage } = context.open('main');
      const metadata = { run: context.unique() };
      const { uuid } = await generations.create({ ...IMAGE, prompt: 'A lighthouse', metadata });
      await generations.wait(uuid);
      const { balance } = (await usage.summary()).credits;
      checkEqual(await generations.delete(uuid), undefined, 'result');
      await checkRejected(generations.get(uuid), { error: 'not_found', status: 404 });
      await checkRejected(generations.delete(uuid), { error: 'not_found', status: 404 });
      checkEqual(await readAll(generations.list({ metadata })), [], 'list');
      checkEqual((await usage.summary()).credits.balance, balance, 'balance');
    },
  },
  {
    title: 'a signal ends a request with its reason, before and while it is sent',
    run: async (context) => {
      const { generations } = context.open('retries', { baseUrl: context.behind('delay', 1) });
      const reason = new Error('The caller has ended.');
      const request = (signal: AbortSignal) => generations.create({ ...IMAGE, prompt: 'A lighthouse' }, { signal });
      check((await catchThrown(request(AbortSignal.abort(reason)))) === reason, 'another reason before');
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), 100);
      check((await catchThrown(request(controller.signal))) === reason, 'another reason meanwhile');
    },
  },
];

/** Ends a generation that would otherwise take a slot of its account. */
async function cancel(context: SuiteContext, uuid: string): Promise<void> {
  const { generations } = context.open('main');
  await generations.cancel(uuid);
  await generations.wait(uuid);
}

import { catchThrown, check, checkEqual, checkFields, checkRejected, readAll } from './check.ts';
import { IMAGE, IMAGE_CREDITS, type SuiteCase } from './context.ts';

export const ACCOUNT_CASES: SuiteCase[] = [
  {
    title: 'models.list and plans.list need no key',
    run: async (context) => {
      const { models, plans } = context.openWith({});
      const found = await readAll(models.list());
      checkEqual(
        found.map(({ slug, kind }) => `${slug} ${kind}`),
        ['animate video', 'imgmodel-2 image', 'gone image'],
        'models',
      );
      checkEqual((await models.list().page(1)).pagination.total_items, found.length, 'total_items');
      const slugs = (await plans.list()).map(({ slug }) => slug);
      checkEqual(slugs, ['lite', 'starter', 'pro', 'studio'], 'plans');
      await checkRejected(context.openWith({}).usage.summary(), { error: 'invalid_api_key', status: 401 });
    },
  },
  {
    title: 'usage.summary, usage.byKey and ledger.list show what a generation cost',
    run: async (context) => {
      const main = context.open('main');
      const created = await main.keys.create({ name: context.unique() });
      const { generations } = context.openWith({ key: created.key });
      const before = await main.usage.summary();
      await generations.wait((await generations.create({ ...IMAGE, prompt: 'A lighthouse' })).uuid);
      const after = await main.usage.summary();
      checkEqual(after.plan?.slug, 'studio', 'plan');
      checkEqual(after.credits.balance, before.credits.balance - IMAGE_CREDITS, 'balance');
      checkEqual(after.credits.used_this_period, before.credits.used_this_period + IMAGE_CREDITS, 'used');
      const used = (await readAll(main.usage.byKey())).find(({ uuid }) => uuid === created.uuid);
      checkFields(used ?? {}, { name: created.name, credits: IMAGE_CREDITS, count: 1, revoked: false }, 'by key');
      const { data } = await main.ledger.list({ entry_type: 'burn' }).page();
      checkFields(data[0] ?? {}, { amount: -IMAGE_CREDITS, balance_after: after.credits.balance }, 'burn');
      const grants = await readAll(main.ledger.list({ entry_type: 'grant' }));
      checkEqual(
        grants.map(({ entry_type: type }) => type),
        ['grant'],
        'grants',
      );
      await main.keys.revoke(created.uuid);
    },
  },
  {
    title: 'keys.create, update, list and revoke manage keys with options',
    run: async (context) => {
      const { keys } = context.open('main');
      const options = {
        scopes: ['svc:read', 'svc:write'] as ('svc:read' | 'svc:write')[],
        expires_at: '2099-01-01T00:00:00.000Z',
        credit_limit: { credits: 100, period: 'day' as const },
        allowed_models: ['imgmodel-2'],
        allowed_ips: ['127.0.0.0/8', '::1'],
      };
      const name = context.unique();
      const { key, ...created } = await keys.create({ name, ...options });
      checkFields(created, { name, ...options, credits_used: 0 }, 'created');
      const { generations } = context.openWith({ key });
      await generations.wait((await generations.create({ ...IMAGE, prompt: 'A lighthouse' })).uuid);
      const changed = await keys.update(created.uuid, { name: `${name} b`, expires_at: null, allowed_models: null });
      check(!('expires_at' in changed) && !('allowed_models' in changed), 'removed options remain');
      checkFields(changed, { name: `${name} b`, credits_used: IMAGE_CREDITS, scopes: options.scopes }, 'changed');
      checkEqual(await keys.revoke(created.uuid), { revoked: true }, 'result');
      const listed = (await readAll(keys.list())).find(({ uuid }) => uuid === created.uuid);
      checkFields(listed ?? {}, { name: `${name} b`, revoked: true }, 'listed');
      await checkRejected(generations.list().page(), { error: 'invalid_api_key', status: 401 });
    },
  },
  {
    title: 'keys.list and usage.byKey are read page by page until the end',
    run: async (context) => {
      const { keys, usage } = context.open('reader');
      const names = Array.from({ length: 23 }, () => context.unique());
      for (const name of names) await keys.revoke((await keys.create({ name })).uuid);
      const listed = await readAll(keys.list());
      checkEqual(
        listed.map(({ name }) => name),
        [...names.toReversed(), 'test'],
        'keys',
      );
      checkEqual(listed.filter(({ revoked }) => revoked).length, names.length, 'revoked keys');
      checkFields((await keys.list().page(2)).pagination, { current_page: 2, total_items: 24 }, 'page 2');
      checkEqual((await readAll(usage.byKey())).length, 24, 'used keys');
    },
  },
  {
    title: 'billing.topUp rejects an account without a plan, and an amount that is too small',
    run: async (context) => {
      const topUp = (account: 'main' | 'unsubscribed', amount: number) =>
        context.open(account).billing.topUp({ amount_cents: amount });
      await checkRejected(topUp('unsubscribed', 5_000), { error: 'subscription_required', status: 402 });
      await checkRejected(topUp('main', 1), { error: 'validation_error', status: 400 });
    },
  },
  {
    title: 'giftCodes.redeem rejects a code that does not exist',
    run: async (context) => {
      const redeemed = context.open('main').giftCodes.redeem('GIFT-0000-0000-0000-0000');
      await checkRejected(redeemed, { error: 'validation_error', status: 400 });
    },
  },
  {
    title: 'a test key creates generations that cost nothing and that live keys do not see',
    run: async (context) => {
      const main = context.open('main');
      const { balance } = (await main.usage.summary()).credits;
      const created = await main.keys.create({ name: context.unique(), mode: 'test' });
      checkEqual(created.mode, 'test', 'mode');
      const tester = context.openWith({ key: created.key });
      const estimate = await tester.generations.estimate({ ...IMAGE, prompt: 'A lighthouse' });
      checkFields(estimate, { credits: 0, refusal: null }, 'estimate');
      const { uuid, credits_charged: charged } = await tester.generations.create({ ...IMAGE, prompt: 'A lighthouse' });
      checkEqual(charged, 0, 'credits_charged');
      const ended = await tester.generations.wait(uuid);
      checkFields(ended, { status: 'succeeded', is_watermarked: true }, 'ended');
      await checkRejected(main.generations.get(uuid), { error: 'not_found', status: 404 });
      checkEqual(await readAll(tester.ledger.list()), [], 'ledger of the test account');
      checkEqual((await main.usage.summary()).credits.balance, balance, 'balance');
      await main.keys.revoke(created.uuid);
    },
  },
  {
    title: 'getToken returns the credential of each request, and is called again with one that was rejected',
    run: async (context) => {
      const [unknown, key] = [`svc_${'0'.repeat(40)}`, context.settings.keys.main];
      const calls: unknown[] = [];
      const getToken = (rejected?: string): Promise<string> => {
        calls.push(rejected ?? 'first');
        return Promise.resolve(calls.length === 1 ? unknown : key);
      };
      const { usage } = context.openWith({ getToken });
      await usage.summary();
      await usage.summary();
      checkEqual(calls, ['first', unknown, 'first'], 'calls');
    },
  },
  {
    title: 'options that cannot be valid are rejected before a request',
    run: async (context) => {
      for (const options of [
        { baseUrl: '' },
        { baseUrl: 'localhost:3000' },
        { baseUrl: 'ftp://example.com' },
        { baseUrl: 'https://user@example.com' },
        { baseUrl: 'https://example.com/?a=b' },
        { key: 'svc_ä' },
        { timeout: 0 },
        { maxRetries: -1 },
        { maxRetries: Number.NaN },
      ]) {
        const thrown = await catchThrown((async () => context.openWith(options))());
        const [name] = Object.keys(options);
        const isNamed = thrown instanceof TypeError && thrown.message.startsWith(`${name} must `);
        check(isNamed, `${JSON.stringify(options)}: ${String(thrown)}`);
      }
      const both = { key: 'svc_test', getToken: () => Promise.resolve('token') };
      const thrown = await catchThrown((async () => context.openWith(both))());
      checkEqual((thrown as Error).message, 'Pass key or getToken, not both.', 'key and getToken');
    },
  },
];

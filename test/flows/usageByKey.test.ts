import { expect } from 'chai';
import { IMAGE, TestCustomer, VIDEO } from '../harness/apiClient.ts';
import { createVisitor } from '../harness/accountForms.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

const PATH = '/api/usage/keys/';

/** Creates another key of the account. @returns its uuid, and the customer with that key. */
async function addKey(customer: TestCustomer, name: string): Promise<{ uuid: string; user: TestCustomer }> {
  const { body } = await customer.request('POST', '/api/keys/create/', { body: { name } });
  return { uuid: body.uuid, user: new TestCustomer(customer.baseUrl, customer.email, customer.cookie, body.key) };
}

/** Usage by the name of the key: `[credits, count]`. */
async function readUsage(customer: TestCustomer): Promise<Record<string, [number, number]>> {
  const { status, body } = await customer.request('GET', PATH);
  expect(status).to.equal(200);
  return Object.fromEntries(body.data.map((row: any) => [row.name, [row.credits, row.count]]));
}

describe('usage by API key', () => {
  const service = useTestService({ apis: 2 });
  beforeEach(() => {
    Object.assign(service.upstream, { outcome: 'succeed', submit: undefined });
  });

  it('lists all keys, newest first, also revoked ones and those without use', async () => {
    const customer = await service.createCustomer('pro');
    const { uuid, user } = await addKey(customer, 'farm');
    await user.waitForEnd((await user.createImage()).uuid);
    await addKey(customer, 'spare');
    await customer.request('POST', `/api/keys/${uuid}/revoke/`);
    const { body } = await customer.request('GET', PATH);
    const keys = (await customer.request('GET', '/api/keys/')).body.data;
    expect(body.data).to.deep.equal(
      keys.map((key: any) => ({
        uuid: key.uuid,
        name: key.name,
        prefix: key.prefix,
        revoked: key.uuid === uuid,
        credits: key.uuid === uuid ? 8 : 0,
        count: key.uuid === uuid ? 1 : 0,
      })),
    );
    expect(body.data.map(({ name }: any) => name).slice(0, 2)).to.deep.equal(['spare', 'farm']);
    expect(body.pagination).to.deep.equal({
      next: null,
      previous: null,
      current_page: 1,
      total_pages: 1,
      total_items: 3,
    });
  });

  it('counts what the key created by REST and MCP, and nothing of sessions and assistants', async () => {
    const customer = await service.createCustomer('studio');
    const { user } = await addKey(customer, 'farm');
    const created = [
      await user.createVideo(),
      (await customer.requestWithSession('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a' } })).body,
    ];
    const image = buildToolCall('generate_image', { prompt: 'b', resolution: '1K' });
    const byKey = await postMcp(user, image, { headers: await openMcpSession(user) });
    created.push(byKey.body.result.structuredContent);
    const { access_token: token } = await (await registerClient(service.baseUrl)).authorizeAndExchange(customer);
    const assistant = new TestCustomer(customer.baseUrl, customer.email, customer.cookie, token);
    const byToken = await postMcp(assistant, image, { headers: await openMcpSession(assistant) });
    created.push(byToken.body.result.structuredContent);
    for (const { uuid } of created) expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    const { farm, ...others } = await readUsage(customer);
    expect(farm).to.deep.equal([43, 2]);
    expect(Object.values(others)).to.deep.equal([[0, 0]]);
    const summary = (await customer.request('GET', '/api/usage/summary/')).body;
    expect(summary.by_model.map(({ credits, count }: any) => [credits, count])).to.deep.equal([
      [24, 3],
      [35, 1],
    ]);
  });

  it('deducts refunds, keeps deleted generations, and counts a repeated request once', async () => {
    const customer = await service.createCustomer('pro');
    const { user } = await addKey(customer, 'farm');
    const headers = { 'idempotency-key': 'once' };
    const send = () =>
      user.request('POST', '/api/generations/create/', { body: { ...VIDEO, prompt: 'a lighthouse' }, headers });
    const first = await send();
    expect((await send()).headers.get('idempotent-replayed')).to.equal('true');
    await user.waitForEnd(first.body.uuid);
    await user.request('DELETE', `/api/generations/${first.body.uuid}/`);
    service.upstream.submit = 'refuse';
    expect((await user.waitForEnd((await user.createImage()).uuid)).status).to.equal('failed');
    expect((await readUsage(customer))['farm']).to.deep.equal([35, 2]);
  });

  it('counts nothing for a rejected request', async () => {
    const customer = await service.createCustomer(null);
    expectError(await customer.createGeneration({ ...IMAGE }), 'subscription_required');
    expect(Object.values(await readUsage(customer))).to.deep.equal([[0, 0]]);
  });

  it('adds up after concurrent creates and refunds of several keys at two processes', async () => {
    const customer = await service.createCustomer('studio');
    const keys = [(await addKey(customer, 'one')).user, (await addKey(customer, 'two')).user];
    const users = keys.flatMap((user) => service.baseUrls.map((baseUrl) => user.on(baseUrl)));
    const expected: Record<string, [number, number]> = { one: [0, 0], two: [0, 0] };
    for (const outcome of ['succeed', 'fail', 'succeed', 'fail'] as const) {
      service.upstream.outcome = outcome;
      const responses = await Promise.all(
        users.flatMap((user) => [0, 1].map(async () => ({ user, ...(await user.createGeneration({ ...IMAGE })) }))),
      );
      for (const { user, status, body } of responses) {
        expect(status).to.equal(201);
        const sums = expected[user.key === keys[0]?.key ? 'one' : 'two'] as [number, number];
        sums[0] += outcome === 'succeed' ? 8 : 0;
        sums[1] += 1;
        await customer.waitForEnd(body.uuid);
      }
    }
    expect(expected).to.deep.equal({ one: [64, 16], two: [64, 16] });
    expect(await readUsage(customer)).to.deep.include(expected);
    await service.checkIntegrity({ isDrained: true });
  });

  it('shows the keys of the own account only', async () => {
    const [customer, other] = await Promise.all([service.createCustomer('pro'), service.createCustomer('pro')]);
    await other.waitForEnd((await other.createImage()).uuid);
    const { body } = await customer.request('GET', PATH);
    expect(body.data).to.have.length(1);
    expect(body.data[0]).to.include({ credits: 0, count: 0 });
    expect((await customer.request('GET', `${PATH}?page=2`)).body.data).to.deep.equal([]);
    expectError(await customer.request('GET', `${PATH}?page=0`), 'validation_error', 'page');
  });

  describe('on the usage page', () => {
    it('names the keys, and sums up what no key created', async () => {
      const { customer, visitor } = await createVisitor(service, 'pro');
      const { user } = await addKey(customer, 'a <b>farm</b>');
      const body = { ...IMAGE, prompt: 'a' };
      const bySession = await customer.requestWithSession('POST', '/api/generations/create/', { body });
      for (const uuid of [(await user.createVideo()).uuid, bySession.body.uuid]) await user.waitForEnd(uuid);
      const { text } = await visitor.request(`${service.baseUrl}/account/usage/`);
      expect(text).to.match(
        /a &lt;b>farm&lt;\/b> <code>svc_[0-9a-f]{8}…<\/code> <\/th><td class="number">1<\/td><td class="number">35<\/td>/,
      );
      expect(text).to.match(/No key: assistants and browser<\/th><td class="number">1<\/td><td class="number">8<\/td>/);
      expect(text).to.not.include('Other keys');
    });

    it('names the 20 keys that used most, and sums up the others', async () => {
      const { customer, visitor } = await createVisitor(service, 'studio');
      await service.sql(
        `INSERT INTO api_keys (key_hash, uuid, account_id, number, member_number, name, prefix, created_at, revoked_at)
         SELECT sha256(convert_to($1 || n, 'UTF8')), gen_random_uuid(), id, n, 1, 'key ' || n, 'svc_', now(), now()
           FROM accounts, generate_series(2, 24) AS n WHERE email = $1`,
        [customer.email],
      );
      await service.sql('UPDATE accounts SET key_count = 24 WHERE email = $1', [customer.email]);
      await service.sql(
        `INSERT INTO usage_keys SELECT id, n, 1000 - n, 1 FROM accounts, generate_series(2, 24) AS n WHERE email = $1`,
        [customer.email],
      );
      service.fabricated.add('usage-keys-match-generations');
      const { text } = await visitor.request(`${service.baseUrl}/account/usage/`);
      const shown = [...text.matchAll(/key (\d+) <code>/g)].map(([, number]) => Number(number));
      expect(shown).to.deep.equal(Array.from({ length: 20 }, (_, index) => index + 2));
      // Keys 22, 23 and 24.
      expect(text).to.match(/Other keys<\/th><td class="number">3<\/td><td class="number">2,931<\/td>/);
    });
  });
});

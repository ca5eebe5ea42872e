import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm } from '../harness/httpBrowser.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, readAudit, useStaffService } from '../harness/staffConsole.ts';

const formatCredits = (credits: number) => credits.toLocaleString('en-GB');

describe('staff actions', () => {
  const { console, service } = useStaffService();
  let customer: TestCustomer;
  let account: string;
  before(() => setAllModelsOnline(service));
  beforeEach(async () => {
    customer = await service.createCustomer('pro');
    account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
  });

  const countAudit = async () => (await readAudit(service, customer)).length;
  const makeGeneration = async (owner = customer) => {
    const { uuid } = await owner.createImage();
    await completeAllGenerations(service, owner);
    return uuid as string;
  };

  const findTopup = async () =>
    (
      await service.sql(
        'SELECT t.* FROM topups t JOIN accounts a ON a.id = t.account_id WHERE a.email = $1 ORDER BY t.created_at DESC LIMIT 1',
        [customer.email],
      )
    )[0];

  describe('adjusting credits', () => {
    it('adds credits to the top-up credits, with a note that the customer sees', async () => {
      const balance = await customer.balance();
      const done = await console.act(`${account}adjust/`, { credits: '50', note: 'the outage of May' }, 'finance');
      expect([done.status, done.headers.get('location')]).to.deep.equal([303, `${account}?done=adjusted`]);
      expect((await console.visit(`${account}?done=adjusted`, 'finance')).text).to.include(
        '<title>The credits are adjusted · genmeter</title>',
      );
      expect(await customer.balance()).to.equal(balance + 50);
      const [entry] = (await customer.request('GET', '/api/ledger/')).body.data;
      expect([entry.entry_type, entry.amount, entry.description]).to.deep.equal([
        'grant',
        50,
        'Goodwill credits: the outage of May',
      ]);
    });

    it('shows the new balance before it is posted, and is red only if it removes credits', async () => {
      const preview = async (credits: string) => {
        const fields: Record<string, string> = { ...(await console.readForm(`${account}adjust/`)), credits };
        Object.assign(fields, { note: 'sorry', step: 'preview' });
        return { fields, page: await console.send(`${account}adjust/`, fields) };
      };
      const balance = await customer.balance();
      const { fields, page } = await preview('50');
      expect([page.status, await customer.balance()]).to.deep.equal([200, balance]);
      expect(page.text)
        .to.include(`${formatCredits(balance)} → ${formatCredits(balance + 50)}`)
        .and.to.include('<button type="submit" class="main">Add 50 credits</button>');
      const { fields: confirmed } = findForm(page.text, `${account}adjust/`);
      expect(confirmed)
        .to.include({ credits: '50', note: 'sorry', request: fields['request'] })
        .and.to.not.have.key('step');
      expect((await console.send(`${account}adjust/`, confirmed)).headers.get('location')).to.equal(
        `${account}?done=adjusted`,
      );
      expect(await customer.balance()).to.equal(balance + 50);
      expect((await preview('-20')).page.text).to.include('class="main danger">Remove 20 credits<');
      const tooMany = (await preview('-51')).page;
      expect([tooMany.status, tooMany.text.includes('the account has 50')]).to.deep.equal([400, true]);
    });

    it('removes at most the top-up credits', async () => {
      const balance = await customer.balance();
      await console.act(`${account}adjust/`, { credits: '50' });
      const tooMany = await console.act(`${account}adjust/`, { credits: '-51' });
      expect([tooMany.status, tooMany.text.includes('the account has 50')]).to.deep.equal([400, true]);
      expect((await console.act(`${account}adjust/`, { credits: '-30' })).status).to.equal(303);
      expect(await customer.balance()).to.equal(balance + 20);
      const [entry] = (await customer.request('GET', '/api/ledger/')).body.data;
      expect([entry.entry_type, entry.amount, entry.description]).to.deep.equal(['expiry', -30, 'Credits removed']);
      expect(await countAudit()).to.equal(2);
      await service.checkIntegrity();
    });

    it('posts a form that is sent twice once', async () => {
      const balance = await customer.balance();
      const fields = { ...(await console.readForm(`${account}adjust/`)), credits: '50' };
      expect((await console.send(`${account}adjust/`, fields)).status).to.equal(303);
      const again = await console.send(`${account}adjust/`, fields);
      expect(again.headers.get('location')).to.equal(`${account}?done=unchanged`);
      const changed = await console.send(`${account}adjust/`, { ...fields, credits: '60' });
      expect([changed.status, changed.text.includes('another adjustment')]).to.deep.equal([400, true]);
      const other = await service.createCustomer('pro');
      const otherPath = `/admin/accounts/${await findAccountUuid(service, other)}/adjust/`;
      expect((await console.send(otherPath, fields)).status).to.equal(400);
      expect(await customer.balance()).to.equal(balance + 50);
      expect(await countAudit()).to.equal(1);
    });

    it('rejects invalid input with a message, and keeps what was typed', async () => {
      for (const credits of ['', '0', '1.5', 'many', '100001', '-100001', '1e3']) {
        const { status, text } = await console.act(`${account}adjust/`, { credits, note: 'typed' });
        expect([status, text.includes('role="alert"')], credits).to.deep.equal([400, true]);
        expect(text).to.include('value="typed"').and.to.include('<title>Error: Adjust the credits');
      }
      const invalid: Record<string, string>[] = [
        { note: 'a\u0000b' },
        { note: 'x'.repeat(121) },
        { reason: 'a\nb' },
        { reason: 'x'.repeat(501) },
      ];
      for (const typed of invalid)
        expect((await console.act(`${account}adjust/`, { credits: '5', ...typed })).status).to.equal(400);
      expect((await console.act(`${account}adjust/`, { credits: '5', request: 'x' })).status).to.equal(400);
      expect(await countAudit()).to.equal(0);
    });
  });

  describe('refunding a generation', () => {
    it('returns the credits to the buckets that paid, and takes them out of the usage', async () => {
      const balance = await customer.balance();
      const uuid = await makeGeneration();
      const path = `/admin/generations/${uuid}/refund/`;
      const done = await console.act(path, {}, 'support');
      expect(done.headers.get('location')).to.equal(`/admin/generations/${uuid}/?done=refunded`);
      const { credits, history } = (await customer.request('GET', '/api/usage/summary/')).body;
      expect([credits.balance, credits.used_this_period]).to.deep.equal([balance, 0]);
      expect(history.at(-1)).to.deep.include({ credits_used: 0, generations: 1 });
      expect((await customer.ledger()).at(-1)).to.deep.equal(['refund', 8]);
      const again = await console.act(path, {}, 'support');
      expect(again.headers.get('location')).to.equal(`/admin/generations/${uuid}/?done=unchanged`);
      expect(await countAudit()).to.equal(1);
      // The output stays.
      expect((await customer.readGeneration(uuid)).body.status).to.equal('succeeded');
      await service.checkIntegrity();
    });

    it('rejects generations that are in progress or have failed', async () => {
      const { uuid } = await customer.createImage();
      const queued = await console.act(`/admin/generations/${uuid}/refund/`);
      expect([queued.status, queued.text.includes('in progress')]).to.deep.equal([400, true]);
      const balance = await customer.balance();
      await service.sql('UPDATE generations SET deadline_at = now() WHERE uuid = $1', [uuid]);
      expect(await customer.balance()).to.equal(balance);
      expect((await console.visit(`/admin/generations/${randomUUID()}/refund/`)).status).to.equal(404);
      expect(await countAudit()).to.equal(0);
      await completeAllGenerations(service, customer);
    });
  });

  describe('access', () => {
    it('suspends and reinstates an account', async () => {
      expect((await console.act(`${account}suspend/`, {}, 'ops')).headers.get('location')).to.equal(
        `${account}?done=suspended`,
      );
      expect((await customer.request('GET', '/api/keys/')).body.error).to.equal('account_suspended');
      expect((await console.visit(account)).text).to.include('suspended since');
      expect((await console.act(`${account}suspend/`, {}, 'ops')).headers.get('location')).to.equal(
        `${account}?done=unchanged`,
      );
      expect((await console.act(`${account}reinstate/`, {}, 'ops')).headers.get('location')).to.equal(
        `${account}?done=reinstated`,
      );
      expect((await customer.request('GET', '/api/keys/')).status).to.equal(200);
      expect(await countAudit()).to.equal(2);
    });

    it('does not suspend staff', async () => {
      const staff = `/admin/accounts/${await findAccountUuid(service, { email: console.email('support') })}/suspend/`;
      const { status, text } = await console.act(staff);
      expect([status, text.includes('A staff account cannot be suspended')]).to.deep.equal([400, true]);
    });

    it('signs an account out and leaves its keys', async () => {
      expect((await console.act(`${account}sign-out/`, {}, 'support')).status).to.equal(303);
      expect((await customer.requestWithSession('GET', '/authentication/me/')).status).to.equal(401);
      expect((await customer.request('GET', '/api/keys/')).status).to.equal(200);
      expect((await console.act(`${account}sign-out/`)).headers.get('location')).to.equal(`${account}?done=unchanged`);
      expect(await countAudit()).to.equal(1);
    });

    it('revokes all access, once', async () => {
      const other = await service.createCustomer('pro');
      expect((await console.act(`${account}revoke-access/`, {}, 'support')).status).to.equal(303);
      expect((await customer.request('GET', '/api/keys/')).status).to.equal(401);
      expect((await customer.requestWithSession('GET', '/authentication/me/')).status).to.equal(401);
      expect((await other.request('GET', '/api/keys/')).status).to.equal(200);
      expect((await console.act(`${account}revoke-access/`)).headers.get('location')).to.equal(
        `${account}?done=unchanged`,
      );
      const [entry] = await readAudit(service, customer);
      expect(entry.before).to.deep.equal({ sessions: 1, keys: 1, grants: 0, webhooks: 0, invitations: 0 });
    });

    it('disables all webhook endpoints with all access, also if no credential is left', async () => {
      const owner = customer;
      const other = await service.createCustomer('pro');
      for (const creator of [owner, owner, other])
        await creator.request('POST', '/api/webhooks/create/', { body: { url: 'https://example.com/hooks' } });
      await console.act(`${account}sign-out/`);
      const { data } = (await owner.request('GET', '/api/keys/')).body;
      await console.act(`/admin/keys/${data[0].uuid}/revoke/`);
      expect((await console.act(`${account}revoke-access/`)).headers.get('location')).to.equal(
        `${account}?done=access-revoked`,
      );
      const entry = (await readAudit(service, owner)).at(-1);
      expect(entry.before).to.deep.equal({ sessions: 0, keys: 0, grants: 0, webhooks: 2, invitations: 0 });
      const states = await service.sql(
        `SELECT a.email, a.webhook_count, array_agg(DISTINCT coalesce(w.disabled_reason, 'enabled')) AS reasons
           FROM webhook_endpoints w JOIN accounts a ON a.id = w.account_id WHERE a.email = ANY ($1) GROUP BY a.id ORDER BY a.id`,
        [[owner.email, other.email]],
      );
      expect(states).to.deep.equal([
        { email: owner.email, webhook_count: 0, reasons: ['owner'] },
        { email: other.email, webhook_count: 1, reasons: ['enabled'] },
      ]);
    });

    it('revokes one key, and no other', async () => {
      const second = (await customer.request('POST', '/api/keys/create/', { body: { name: 'second' } })).body;
      const path = `/admin/keys/${second.uuid}/revoke/`;
      expect((await console.act(path)).headers.get('location')).to.equal(`${account}?done=key-revoked`);
      const { data } = (await customer.request('GET', '/api/keys/')).body;
      expect(data.map(({ revoked }: { revoked: boolean }) => revoked)).to.deep.equal([true, false]);
      expect((await console.act(path)).headers.get('location')).to.equal(`${account}?done=unchanged`);
      expect(await countAudit()).to.equal(1);
      expect((await console.visit(`/admin/keys/${randomUUID()}/revoke/`)).status).to.equal(404);
    });
  });

  it('requeues a stuck generation only', async () => {
    const { uuid } = await customer.createImage();
    const path = `/admin/generations/${uuid}/requeue/`;
    const early = await console.act(path, {}, 'ops');
    expect([early.status, early.text.includes('is not stuck')]).to.deep.equal([400, true]);
    await service.moveClockTo(new Date(service.now.getTime() + 180_000));
    expect((await console.act(path, {}, 'ops')).headers.get('location')).to.equal(
      `/admin/generations/${uuid}/?done=requeued`,
    );
    expect((await readAudit(service, customer)).map(({ action }) => action)).to.deep.equal(['generation.requeue']);
    await service.moveClockTo(new Date());
    await completeAllGenerations(service, customer);
    expect((await console.act(path, {}, 'ops')).status).to.equal(400);
  });

  describe('refunding a top-up', () => {
    it('records one refund, which the account page shows', async () => {
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const { uuid } = await findTopup();
      const path = `/admin/topups/${uuid}/refund/`;
      expect((await console.visit(account, 'finance')).text).to.include(`href="${path}"`);
      expect((await console.act(path, {}, 'finance')).headers.get('location')).to.equal(`${account}?done=topup-refund`);
      expect((await console.act(path, {}, 'finance')).headers.get('location')).to.equal(`${account}?done=unchanged`);
      const { text } = await console.visit(account, 'finance');
      expect(text).to.include(`refund of top-up ${uuid}: owed.`).and.to.not.include(`href="${path}"`);
      expect(await countAudit()).to.equal(1);
    });

    it('closes a rejected refund, which is listed as a problem until then', async () => {
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const { uuid } = await findTopup();
      await console.act(`/admin/topups/${uuid}/refund/`, {}, 'finance');
      const path = `/admin/refunds/${uuid}/close/`;
      expect((await console.visit(path, 'finance')).text).to.include('Only a rejected refund can be closed.');
      await service.sql(`UPDATE owed_refunds SET status = 'rejected', last_error = 'no', completed_at = now()`);
      expect((await console.visit(account, 'finance')).text)
        .to.include(`href="${path}"`)
        .and.to.include('rejected. no');
      expect((await console.act(path, {}, 'finance')).headers.get('location')).to.equal(
        `${account}?done=refund-closed`,
      );
      const { text } = await console.visit(account, 'finance');
      expect(text).to.not.include(`href="${path}"`).and.to.not.include('rejected. no');
      expect((await readAudit(service, customer)).map(({ action }) => action)).to.include('refund.close');
      for (const unknown of ['in_unknown', '%00'])
        expect((await console.visit(`/admin/refunds/${unknown}/close/`, 'finance')).status).to.equal(404);
    });

    it('names the payment with its tax, and the credits that are left', async () => {
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const { uuid, credits } = await findTopup();
      const path = `/admin/topups/${uuid}/refund/`;
      const set = (values: string) => service.sql(`UPDATE topups SET ${values} WHERE uuid = $1`, [uuid]);
      await set('net_cents = 5000, tax_cents = 950');
      const whole = await console.visit(path, 'finance');
      expect(whole.text)
        .to.include('All of the payment of $59.50')
        .and.to.include(`Of its ${formatCredits(credits)} credits, ${formatCredits(credits)} are left`);
      await set('reversed_cents = 2500, credits_reversed = 900');
      const rest = await console.visit(path, 'finance');
      expect(rest.text).to.include('What is left of the payment of $59.50');
      expect(rest.text).to.include(`${formatCredits(credits - 900)} are left`);
      await set('reversed_cents = 0, credits_reversed = 0, net_cents = amount_cents, tax_cents = 0');
    });

    it('rejects a top-up that is not paid, is disputed in full or was refunded', async () => {
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const { uuid } = await findTopup();
      const path = `/admin/topups/${uuid}/refund/`;
      await service.sql('UPDATE topups SET is_disputed = true, reversed_cents = amount_cents WHERE uuid = $1', [uuid]);
      expect((await console.act(path)).text).to.include('disputed');
      await service.sql('UPDATE topups SET is_disputed = false WHERE uuid = $1', [uuid]);
      expect((await console.act(path)).text).to.include('already been refunded');
      await service.sql('UPDATE topups SET reversed_cents = 0 WHERE uuid = $1', [uuid]);
      expect(await countAudit()).to.equal(0);
    });
  });
});

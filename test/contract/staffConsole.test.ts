import { expect } from 'chai';
import { sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, useStaffService } from '../harness/staffConsole.ts';
import { addMember } from '../harness/members.ts';
import { changeOwner } from '../harness/people.ts';

const SECTIONS = ['Summary', 'Credits', 'Plan', 'Ledger', 'Generations', 'Payments', 'Access', 'Affiliate', 'Profile'];
/** Parts of sections. Those that have no rows are one line. */
const PARTS = ['Subscriptions', 'Plan history', 'Top-ups', 'Invoices', 'API keys', 'Sessions', 'Applications'];
const EMPTY_PARTS = ['Unprocessed payment events', 'Sign-in methods'];

/** Counts the rows of the table on a page. */
const countRows = (html: string) => (html.match(/<tr>/g)?.length ?? 0) - 1;

describe('the staff console', () => {
  const { console, service } = useStaffService();
  let customer: TestCustomer;
  let uuid: string;
  before(async () => {
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
    uuid = await findAccountUuid(service, customer);
  });

  const search = (query: string) => console.visit(`/admin/accounts/?q=${encodeURIComponent(query)}`, 'support');
  const expectFound = async (query: string) => {
    const { status, headers } = await search(query);
    expect([status, headers.get('location')], query).to.deep.equal([303, `/admin/accounts/${uuid}/`]);
  };

  describe('search', () => {
    it('finds an account by its address, the beginning of it, its uuid and its number', async () => {
      const [{ id }] = await service.sql('SELECT id FROM accounts WHERE uuid = $1', [uuid]);
      for (const query of [
        customer.email,
        ` ${customer.email.toUpperCase()} `,
        customer.email.slice(0, 20),
        uuid,
        String(id),
      ])
        await expectFound(query);
    });

    it('finds an account by an API key, a generation and a top-up', async () => {
      const [key] = (await customer.request('GET', '/api/keys/')).body.data;
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const [topup] = await service.sql('SELECT * FROM topups ORDER BY created_at DESC LIMIT 1');
      const generation = await customer.createImage();
      for (const query of [key.prefix, key.uuid, generation.uuid, topup.uuid, topup.stripe_payment_intent_id])
        await expectFound(query);
    });

    it('finds an account by the Stripe ids of its customer, subscription and refunded invoice', async () => {
      await service.sql(`UPDATE accounts SET stripe_customer_id = 'cus_1' WHERE uuid = $1`, [uuid]);
      await service.sql(
        `UPDATE subscriptions s SET stripe_subscription_id = 'sub_1' FROM accounts a WHERE a.id = s.account_id AND a.uuid = $1`,
        [uuid],
      );
      service.fabricated.add('what-waits-has-a-task');
      await service.sql(
        `INSERT INTO owed_refunds (invoice_id, account_id, cause, created_at)
         SELECT 'in_1', id, 'unused', now() FROM accounts WHERE uuid = $1`,
        [uuid],
      );
      for (const query of ['cus_1', 'sub_1', 'in_1']) await expectFound(query);
      await service.sql('UPDATE subscriptions SET stripe_subscription_id = NULL');
    });

    it('finds an account by the uuid and the Stripe id of an invoice, which the account page lists', async () => {
      const [invoice] = await service.sql(
        `UPDATE invoices i SET stripe_invoice_id = 'in_paid' FROM accounts a
          WHERE a.id = i.account_id AND a.uuid = $1 AND i.kind = 'subscription' RETURNING i.uuid`,
        [uuid],
      );
      for (const query of ['in_paid', invoice.uuid]) await expectFound(query);
      expect((await console.visit(`/admin/accounts/${uuid}/`)).text)
        .to.include(invoice.uuid)
        .and.to.include('in_paid');
    });

    it('lists several accounts, and says what can be searched if there is none', async () => {
      const [one, other] = [await service.createCustomer(null), await service.createCustomer(null)];
      for (const [index, { email }] of [one, other].entries())
        await changeOwner(service, email, 'email', `several-${index}@example.com`);
      const several = await search('several-');
      expect(several.text).to.include('2 accounts').and.to.include('several-0@example.com');
      for (const query of ['nobody@example.com', 'svc_00000000', 'cus_none', '999999', 'x', '%', '\u0000', '_______']) {
        const none = await search(query);
        expect([none.status, none.text.includes('No account found')], query).to.deep.equal([200, true]);
      }
      expect((await search('')).text)
        .to.include('Stripe id of a customer')
        .and.to.not.include('No account found');
    });

    it('finds an account by the address of a member, whom its page lists with the role', async () => {
      const owner = await service.createCustomer(null);
      const member = await addMember(owner, 'billing');
      const { text } = await search(member.email);
      expect(text).to.include(owner.email);
      const [{ uuid: accountUuid }] = await service.sql('SELECT uuid FROM accounts WHERE email = $1', [owner.email]);
      const page = await console.visit(`/admin/accounts/${accountUuid}/`);
      expect(page.text.split('Members').slice(1).join()).to.include(member.email).and.include('billing');
    });

    it('rejects a whole API key', async () => {
      const { status, text } = await search(customer.key);
      expect([status, text.includes('first 12 characters')]).to.deep.equal([400, true]);
      expect(text).to.not.include(customer.key);
    });

    it('uses indexes for each kind of query', async () => {
      const client = await service.database.connect();
      try {
        await client.query('SET enable_seqscan = off');
        for (const [query, index] of [
          [`SELECT * FROM accounts WHERE email ~>=~ 'abc' AND email ~<~ 'abd'`, 'accounts_email_prefix_idx'],
          [`SELECT id FROM people WHERE email ~>=~ 'abc' AND email ~<~ 'abd'`, 'people_email_prefix_idx'],
          [`SELECT * FROM api_keys WHERE prefix = 'svc_00000000'`, 'api_keys_prefix_idx'],
          [`SELECT * FROM generations WHERE uuid = '00000000-0000-4000-8000-000000000000'`, 'generations_pkey'],
          [`SELECT * FROM owed_refunds WHERE account_id = 1`, 'owed_refunds_account_idx'],
        ] as const) {
          const { rows } = await client.query(`EXPLAIN ${query}`);
          expect(JSON.stringify(rows)).to.include(index);
        }
      } finally {
        client.release(true);
      }
    });
  });

  describe('the account page', () => {
    it('shows all sections, without prompts, outputs and secrets', async () => {
      const prompt = 'a secret lighthouse';
      await customer.createImage(prompt);
      await completeAllGenerations(service, customer);
      await (await registerClient(service.baseUrl)).authorizeAndExchange(customer);
      await customer.request('POST', '/api/affiliate/enroll/');
      const { status, text } = await console.visit(`/admin/accounts/${uuid}/`);
      expect(status).to.equal(200);
      for (const title of [...SECTIONS, 'Audit log'])
        expect(text).to.match(new RegExp(`<h2 id="[a-z]+">${title}</h2>`));
      for (const title of PARTS) expect(text).to.match(new RegExp(`<h3 id="[a-z-]+">${title}</h3>`));
      for (const title of EMPTY_PARTS) expect(text).to.match(new RegExp(`>None: [^<]*${title}[^<]*\\.<`));
      for (const [, id] of text.matchAll(/<a href="#([a-z]+)">/g)) expect(text).to.include(`id="${id}"`);
      expect(text)
        .to.include(customer.email)
        .and.to.include(customer.key.slice(0, 12))
        .and.to.include('Monthly credits');
      for (const secret of [prompt, customer.key, 'aa/seeded/image.png']) expect(text).to.not.include(secret);
      expect(text).to.not.match(/<script|<style| style=| on\w+=/i);
      expect(text.length).to.be.below(100_000);
    });

    it('shows the options of keys and the limits of applications with their use, without a form', async () => {
      const owner = await service.createCustomer('pro');
      const options = { credit_limit: { credits: 50, period: 'month' }, scopes: ['svc:read', 'svc:write'] };
      await (await createRestrictedKey(service, owner, options)).customer.createImage();
      const client = await registerClient(service.baseUrl);
      await client.authorizeAndExchange(owner);
      const [{ uuid: grant }] = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [
        client.clientId,
      ]);
      const limit = { limit_credits: '70', limit_period: 'day' };
      const path = `/account/applications/${grant}/limit/`;
      await sendAccountForm(service.baseUrl, createBrowserFor(owner), path, limit);
      const { text } = await console.visit(`/admin/accounts/${await findAccountUuid(service, owner)}/`);
      expect(text)
        .to.match(/Spending limit: 8 of 50 credits a month are used; it resets on 1 \w+ \d{4}, 00:00 UTC\./)
        .and.to.include('Scopes: svc:read, svc:write.')
        .and.to.match(/0 of 70 credits a day are used; it resets on/);
      expect(text).to.not.include('limit_credits');
    });

    it('begins with the state, plan, balance, last success and last failures', async () => {
      const owner = await service.createCustomer('pro');
      const path = `/admin/accounts/${await findAccountUuid(service, owner)}/`;
      const readSummary = async () => (await console.visit(path)).text.split('id="summary"')[1]?.split('</section>')[0];
      expect(await readSummary())
        .to.include('No generation yet.')
        .and.to.include('1,100');
      await owner.createImage();
      await completeAllGenerations(service, owner);
      const { uuid: failed } = await owner.createImage();
      await owner.request('POST', `/api/generations/${failed}/cancel/`);
      await service.sql(`UPDATE generations SET error_message = 'The model returned no output.' WHERE uuid = $1`, [
        failed,
      ]);
      await service.sql(
        `UPDATE subscriptions s SET status = 'past_due', past_due_since = '2026-11-20' FROM accounts a
          WHERE a.id = s.account_id AND a.email = $1`,
        [owner.email],
      );
      const summary = await readSummary();
      await service.sql(`UPDATE subscriptions SET status = 'active', past_due_since = NULL WHERE status = 'past_due'`);
      expect(summary)
        .to.include('1 succeeded and 1 failed')
        .and.to.include('The model returned no output.')
        .and.to.include(`href="/admin/generations/${failed}/"`)
        .and.to.include('payment failed since 20 Nov 2026')
        .and.to.include('Last success');
    });

    it('lists refunds that are not completed as problems', async () => {
      await service.sql(
        `INSERT INTO owed_refunds (invoice_id, account_id, cause, created_at, last_error)
         SELECT 'in_2', id, 'unused', now(), 'no money' FROM accounts WHERE uuid = $1`,
        [uuid],
      );
      const { text } = await console.visit(`/admin/accounts/${uuid}/`);
      expect(text).to.include('refund of invoice in_2: owed. no money');
    });

    it('lists unprocessed events of its customer only, with the tasks that apply them', async () => {
      await service.sql(`UPDATE accounts SET stripe_customer_id = 'cus_7' WHERE uuid = $1`, [uuid]);
      await service.sql(
        `INSERT INTO payment_events (event_id, type, object_id, payload, received_at)
         VALUES ('evt_own', 'charge.refunded', 'ch_1', '{"customer": "cus_7"}', now()),
                ('evt_abandoned', 'charge.refunded', 'ch_1', '{"customer": "cus_7"}', now()),
                ('evt_other', 'charge.refunded', 'ch_2', '{"customer": "cus_77"}', now())`,
      );
      await service.sql(
        `INSERT INTO tasks (kind, key, run_at, attempts, last_error, created_at)
         SELECT 'payment.event', event_id, CASE event_id WHEN 'evt_abandoned' THEN NULL ELSE now() + interval '1 hour' END, 9,
                'problem of ' || event_id, now() FROM payment_events`,
      );
      const { text } = await console.visit(`/admin/accounts/${uuid}/`);
      expect(text)
        .to.include('<h2 id="tasks">')
        .and.to.include('problem of evt_own')
        .and.to.include('problem of evt_abandoned')
        .and.to.not.include('evt_other');
    });

    it('shows a requested deletion, and an erased account without its actions', async () => {
      const owner = await service.createCustomer(null);
      const path = `/admin/accounts/${await findAccountUuid(service, owner)}/`;
      const set = (values: string) => service.sql(`UPDATE accounts SET ${values} WHERE email = $1`, [owner.email]);
      expect((await console.visit(path)).text)
        .to.include('>active<')
        .and.to.include(`href="${path}adjust/"`);
      await set('suspended_at = now(), deletion_requested_at = now()');
      const pending = await console.visit(path);
      expect(pending.text).to.include('>deletion requested since ').and.to.include(`href="${path}reinstate/"`);
      const fields = await console.readForm(`${path}adjust/`);
      await set('erased_at = now()');
      const erased = await console.visit(path);
      expect(erased.text).to.include('>erased since ');
      expect(erased.text).to.not.match(new RegExp(`href="${path}(reinstate|sign-out|revoke-access|adjust)/"`));
      const refused = await console.send(`${path}adjust/`, { ...fields, credits: '5' });
      expect([refused.status, refused.text.includes('The account is erased')]).to.deep.equal([400, true]);
      await set('suspended_at = NULL, deletion_requested_at = NULL, erased_at = NULL');
    });

    it('does not exist for an unknown uuid, as the other pages of a target', async () => {
      const missing = '00000000-0000-4000-8000-000000000000';
      for (const path of ['accounts', 'generations'])
        expect((await console.visit(`/admin/${path}/${missing}/`)).status).to.equal(404);
      expect((await console.visit('/admin/accounts/none/')).status).to.equal(404);
    });

    it('pages the ledger and the generations', async () => {
      const owner = await service.createCustomer('studio');
      const ownerUuid = await findAccountUuid(service, owner);
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(Array.from({ length: 8 }, () => owner.createImage()));
        await completeAllGenerations(service, owner);
      }
      const ledger = await console.visit(`/admin/accounts/${ownerUuid}/ledger/`);
      expect([countRows(ledger.text), ledger.text.includes('rel="next"')]).to.deep.equal([20, true]);
      expect(countRows((await console.visit(`/admin/accounts/${ownerUuid}/ledger/?page=2`)).text)).to.equal(5);
      const generations = await console.visit(`/admin/accounts/${ownerUuid}/generations/`);
      expect(countRows(generations.text)).to.equal(20);
      const next = /href="([^"]+)" rel="next"/.exec(generations.text)?.[1] ?? '';
      expect(countRows((await console.visit(next)).text)).to.equal(4);
      expect((await console.visit(`/admin/accounts/${ownerUuid}/generations/?before=x`)).status).to.equal(400);
    });
  });

  describe('the generation page', () => {
    it('shows prompt and output only after a reason, in the response to the form', async () => {
      const owner = await service.createCustomer('pro');
      const generation = await owner.createImage('a private garden');
      await completeAllGenerations(service, owner);
      const path = `/admin/generations/${generation.uuid}/`;
      const before = await console.visit(path, 'support');
      expect(before.text).to.include('succeeded').and.to.not.include('a private garden');
      const fields = await console.readForm(`${path}content/`, 'support', path);
      const shown = await console.send(`${path}content/`, fields, { role: 'support' });
      expect(shown.status).to.equal(200);
      expect(shown.text).to.include('a private garden').and.to.include('aa/seeded/image.png');
      expect(shown.headers.get('cache-control')).to.equal('no-store');
      expect((await console.visit(path, 'support')).text).to.not.include('a private garden');
      expect((await console.visit(path, 'finance')).text).to.not.include('View prompt and output');
      const reloaded = await console.visit(`${path}content/`, 'support');
      expect([reloaded.status, reloaded.headers.get('location')]).to.deep.equal([303, path]);
    });

    it('shows an error message of the upstream only after a reason, and those of the service always', async () => {
      const owner = await service.createCustomer('pro');
      const { uuid: generation } = await owner.createImage();
      const path = `/admin/generations/${generation}/`;
      const list = `/admin/accounts/${await findAccountUuid(service, owner)}/generations/`;
      const fail = (message: string | null) =>
        service.sql('UPDATE generations SET error_message = $2 WHERE uuid = $1', [generation, message]);
      await fail('Rejected the prompt: a private garden');
      for (const page of [path, list, list.replace('generations/', '')])
        expect((await console.visit(page, 'finance')).text, page)
          .to.match(/Rejected with a message of the upstream(&#39;|')s own/)
          .and.to.not.include('private garden');
      const fields = await console.readForm(`${path}content/`, 'support', path);
      const shown = await console.send(`${path}content/`, fields, { role: 'support' });
      expect(shown.text).to.include('Rejected the prompt: a private garden');
      await fail('The model returned no output.');
      for (const page of [path, list])
        expect((await console.visit(page, 'finance')).text).to.include('The model returned no output.');
      await fail(null);
    });

    it('shows nothing of a generation that its owner has deleted', async () => {
      const owner = await service.createCustomer('pro');
      const generation = await owner.createImage('a deleted garden');
      await completeAllGenerations(service, owner);
      const path = `/admin/generations/${generation.uuid}/`;
      const fields = await console.readForm(`${path}content/`, 'support', path);
      await owner.request('DELETE', `/api/generations/${generation.uuid}/`);
      expect((await console.visit(path, 'support')).text).to.not.include('View prompt and output');
      const refused = await console.send(`${path}content/`, fields, { role: 'support' });
      expect([refused.status, refused.text.includes('a deleted garden')]).to.deep.equal([404, false]);
    });
  });
});

import { readAudit } from '../harness/staffConsole.ts';
import { expect } from 'chai';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { runAdminInProcess } from '../harness/adminCommand.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { decodeClaims, registerClient } from '../harness/oauthClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const image = async (customer: TestCustomer, prompt: string) =>
  customer.waitForEnd((await customer.createImage(prompt)).uuid);

describe('the data of an account', () => {
  const service = useTestService({ spawn: 'all' });

  const admin = (...args: string[]) => runAdminInProcess(args, service.env);
  const getRow = async ({ email }: TestCustomer) =>
    (await service.sql('SELECT * FROM accounts WHERE email = $1', [email]))[0];
  const getTexts = async (accountId: number) =>
    service.sql('SELECT prompt, params, purged_at IS NOT NULL AS is_purged FROM generations WHERE account_id = $1', [
      accountId,
    ]);

  const listActions = async (account: { email: string }) =>
    (await readAudit(service, account)).map(({ action, reason }) => [action, reason]);

  it('is inaccessible to every credential after revoke-access, and the owner can sign in again', async () => {
    const customer = await service.createCustomer('pro');
    const client = await registerClient(service.baseUrl);
    const tokens = await client.authorizeAndExchange(customer);
    expect(decodeClaims(tokens.access_token).scope).to.include('svc:read');
    const before = await admin('revoke-access', customer.email);
    expect(before.out).to.include('Would revoke').and.include('1 sessions, 1 API keys, 1 application grants');
    expect((await customer.request('GET', '/api/keys/')).status).to.equal(200);

    expect((await admin('revoke-access', customer.email, '--apply', '--reason', 'taken over')).out).to.include(
      'Revoked for',
    );
    expect(await listActions(customer)).to.deep.equal([['account.revoke_access', 'taken over']]);
    expect((await customer.request('GET', '/api/keys/')).status).to.equal(401);
    expect((await customer.requestWithSession('GET', '/authentication/me/')).status).to.equal(401);
    expect((await client.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
    const body = { email: customer.email };
    expect((await service.request('POST', '/authentication/dev/sign-in/', { body })).status).to.equal(200);
  });

  it('is printed as JSON by export-account, without hashes', async () => {
    const customer = await service.createCustomer('pro');
    await image(customer, 'a lighthouse to export');
    const { status, out } = await admin('export-account', customer.email);
    expect(status).to.equal(0);
    const exported = JSON.parse(out);
    expect(exported.account.email).to.equal(customer.email);
    expect(exported.generations[0].prompt).to.equal('a lighthouse to export');
    expect(exported.ledger_entries).to.have.length(2);
    expect(exported.invoices[0]).to.include({ kind: 'subscription', total_cents: 34_800, status: 'paid' });
    expect(exported.api_keys[0].prefix).to.equal(customer.key.slice(0, 12));
    expect(out).to.not.match(/_hash|upstream_handle/);
    expect(await listActions(customer)).to.deep.equal([['account.export', '']]);
  });

  it('is erased by erase-account except the ledger, and a second run changes nothing', async () => {
    const customer = await service.createCustomer('pro');
    const { output_url: url } = await image(customer, 'a lighthouse to erase');
    await image(customer, 'another one');
    const account = await getRow(customer);
    await service.sql(
      `UPDATE invoices SET hosted_invoice_url = 'https://invoice.example/ada', pdf_url = 'https://invoice.example/ada/pdf'
        WHERE account_id = $1`,
      [account.id],
    );
    const ledger = await customer.ledger();
    expect((await admin('erase-account', customer.email)).out).to.include('Would erase');
    expect(await getRow(customer)).to.not.equal(undefined);

    const erased = await admin('erase-account', customer.email, '--apply');
    expect([erased.status, erased.out.includes('Deleted 2 generations')], erased.err).to.deep.equal([0, true]);
    expect(await getRow(customer)).to.equal(undefined);
    expect((await customer.request('GET', '/api/keys/')).status).to.equal(401);
    const [row] = await service.sql('SELECT * FROM accounts WHERE id = $1', [account.id]);
    expect(row).to.include({
      email: `erased-${account.uuid}@erased.invalid`,
      first_name: '',
      balance: account.balance,
    });
    expect(await getTexts(account.id)).to.deep.equal([
      { prompt: '', params: {}, is_purged: true },
      { prompt: '', params: {}, is_purged: true },
    ]);
    const invoices = await service.sql(
      'SELECT total_cents::int, hosted_invoice_url, pdf_url FROM invoices WHERE account_id = $1',
      [account.id],
    );
    expect(invoices).to.deep.equal([{ total_cents: 34_800, hosted_invoice_url: null, pdf_url: null }]);
    const entries = await service.sql('SELECT 1 FROM ledger_entries WHERE account_id = $1', [account.id]);
    expect(entries.length).to.equal(ledger.length);
    await eventually('the media are gone', async () => (await fetch(url)).status === 404);
    expect((await admin('erase-account', account.uuid, '--apply')).out).to.include('Deleted 0 generations');
    // Both runs are one action.
    expect(await listActions(row)).to.deep.equal([['account.erase', '']]);
  });

  it('is not erased while a paid subscription would renew or a generation is in progress', async () => {
    const customer = await service.createCustomer('pro');
    const { id } = await getRow(customer);
    const stripe = `sub_of_the_tests_${id}`;
    await service.sql('UPDATE subscriptions SET stripe_subscription_id = $2 WHERE account_id = $1', [id, stripe]);
    for (const status of ['active', 'past_due', 'unpaid']) {
      await service.sql('UPDATE subscriptions SET status = $2 WHERE account_id = $1', [id, status]);
      const refused = await admin('erase-account', customer.email, '--apply');
      expect([refused.status, /Cancel it first/.test(refused.err)], status).to.deep.equal([1, true]);
    }
    await service.sql(`UPDATE subscriptions SET status = 'active' WHERE account_id = $1`, [id]);
    await service.sql('UPDATE subscriptions SET cancel_at_period_end = true WHERE account_id = $1', [id]);
    service.upstream.outcome = 'wait';
    await customer.createImage('in progress');
    expect((await admin('erase-account', customer.email, '--apply')).err).to.include('1 generations are in progress');
    expect(await getRow(customer)).to.not.equal(undefined);
    service.upstream.end('in progress', 'succeeded');
    await eventually('it has ended', async () => (await getRow(customer)).in_flight === 0);
    service.upstream.outcome = 'succeed';
    expect((await admin('erase-account', customer.email, '--apply')).status).to.equal(0);
    await service.sql('UPDATE subscriptions SET stripe_subscription_id = NULL WHERE account_id = $1', [id]);
  });

  it('keeps no prompt of a generation 30 days after its deletion', async () => {
    const customer = await service.createCustomer('pro');
    const [old, recent] = [await image(customer, 'deleted long ago'), await image(customer, 'deleted just now')];
    await image(customer, 'kept');
    for (const { uuid } of [old, recent]) await customer.request('DELETE', `/api/generations/${uuid}/`);
    await service.sql(`UPDATE generations SET deleted_at = now() - interval '31 days' WHERE uuid = $1`, [old.uuid]);
    const connection = new Redis(service.env['REDIS_URL'] as string, { maxRetriesPerRequest: null });
    const queue = new Queue('maintenance', { connection, prefix: `{${service.env['REDIS_PREFIX']}:maintenance}` });
    await queue.add('rows.prune', {});
    const { id } = await getRow(customer);
    const prompts = async () =>
      (await getTexts(id)).map(({ prompt }) => prompt as string).toSorted((a, b) => a.localeCompare(b));
    await eventually('the old prompt is gone', async () => (await prompts())[0] === '');
    expect(await prompts()).to.deep.equal(['', 'deleted just now', 'kept']);
    await service.sql('UPDATE generations SET deleted_at = now() WHERE uuid = $1', [old.uuid]);
    await queue.close();
    connection.disconnect();
  });
});

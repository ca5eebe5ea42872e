import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { sha256 } from '../../shared/lib/secrets.ts';
import { runAdminInProcess } from '../harness/adminCommand.ts';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { accept, findListed, invite } from '../harness/members.ts';
import { REASON, StaffConsole } from '../harness/staffConsole.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const redeem = (customer: TestCustomer, code: string, headers = {}): Promise<ApiResponse> =>
  customer.request('POST', '/api/gift-codes/redeem/', { body: { code }, headers });

describe('gift codes', () => {
  const console = new StaffConsole();
  let service: TestService;
  before(async () => {
    const env = {
      STAFF_EMAILS: console.staffEmails,
      STAFF_DAILY_CREDITS: 'finance:1000',
      STAFF_APPROVAL_CREDITS: '5000',
    };
    service = await startTestService({ apis: 2, workers: 0, spawn: 'all', env });
    await console.open(service);
  });
  after(() => service.stop());

  const create = (body: object, role: 'admin' | 'finance' | 'support' = 'admin') =>
    console.member(role).request('POST', '/api/admin/gift-codes/create/', { body: { note: 'a workshop', ...body } });
  const createCode = async (body: object): Promise<any> => {
    const created = await create(body);
    expect(created.status, JSON.stringify(created.body)).to.equal(201);
    return created.body;
  };
  const onOtherApi = (customer: TestCustomer) =>
    Object.assign(Object.create(customer), { baseUrl: service.baseUrls[1] });

  it('add their credits to those that do not expire, with the ledger entry of credits that staff grant', async () => {
    const { code, prefix } = await createCode({ credits: 40 });
    const customer = await service.createCustomer(null);
    const typed = code.toLowerCase().replaceAll('-', ' ');
    expect((await redeem(customer, typed)).body).to.deep.equal({ credits: 40, balance: 40 });
    const [entry] = (await customer.request('GET', '/api/ledger/')).body.data;
    expect([entry.entry_type, entry.amount, entry.description]).to.deep.equal([
      'grant',
      40,
      `Goodwill credits: gift code ${prefix}…`,
    ]);
    const [stored] = await service.sql('SELECT topup_credits FROM accounts WHERE email = $1', [customer.email]);
    expect(stored.topup_credits).to.equal(40);
    expectError(await redeem(customer, code), 'validation_error', 'as often as it can be');
  });

  it('are stored as hashes', async () => {
    const { code } = await createCode({ credits: 1 });
    const [row] = await service.sql(
      'SELECT code_hash, gift_codes::text AS whole FROM gift_codes ORDER BY created_at DESC LIMIT 1',
    );
    expect(row.code_hash).to.deep.equal(sha256(code.replaceAll('-', '')));
    expect(row.whole).not.to.include(code.slice('GIFT-0000'.length));
  });

  it('are redeemed once by an account, however many requests come at the same time to two processes', async () => {
    const { code } = await createCode({ credits: 7, uses: 100 });
    const customer = await service.createCustomer(null);
    const requests = Array.from({ length: 100 }, (_, index) =>
      redeem(index % 2 === 0 ? customer : onOtherApi(customer), code),
    );
    const accepted = (await Promise.all(requests)).filter(({ status }) => status === 200);
    expect([accepted.length, await customer.balance()]).to.deep.equal([1, 7]);
  });

  it('are redeemed by no more accounts than they have uses', async () => {
    const { code, uuid } = await createCode({ credits: 3, uses: 12 });
    const customers = await Promise.all(Array.from({ length: 30 }, () => service.createCustomer(null)));
    const responses = await Promise.all(
      customers.map((customer, index) => redeem(index % 2 === 0 ? customer : onOtherApi(customer), code)),
    );
    expect(responses.filter(({ status }) => status === 200).length).to.equal(12);
    const { body } = await console.member('admin').request('GET', '/api/admin/gift-codes/');
    expect(body.data.find((row: any) => row.uuid === uuid).uses).to.equal(12);
  });

  it('give the first response again to a request with the same Idempotency-Key', async () => {
    const { code } = await createCode({ credits: 5 });
    const customer = await service.createCustomer(null);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await redeem(customer, code, headers);
    const second = await redeem(customer, code, headers);
    expect([second.status, second.body]).to.deep.equal([200, first.body]);
    expect(second.headers.get('idempotent-replayed')).to.equal('true');
  });

  it('cannot be redeemed if they are unknown, revoked or expired', async () => {
    const customer = await service.createCustomer(null);
    expectError(await redeem(customer, 'GIFT-0000-0000-0000-0000'), 'validation_error', 'no such gift code');
    const revoked = await createCode({ credits: 5 });
    await console.member('admin').request('POST', `/api/admin/gift-codes/${revoked.uuid}/revoke/`);
    expectError(await redeem(customer, revoked.code), 'validation_error', 'withdrawn');
    const expired = await createCode({ credits: 5, expires_at: '2099-01-01' });
    await service.sql(`UPDATE gift_codes SET expires_at = now() WHERE uuid = $1`, [expired.uuid]);
    expectError(await redeem(customer, expired.code), 'validation_error', 'expired at');
    expect(await customer.balance()).to.equal(0);
  });

  it('are created by members who adjust credits, within their daily limit and below the amount that needs two', async () => {
    expectError(await create({ credits: 1 }, 'support'), 'admin_required');
    expect((await create({ credits: 300, uses: 3 }, 'finance')).status).to.equal(201);
    expectError(await create({ credits: 101 }, 'finance'), 'admin_required', 'within 24 hours');
    expectError(await create({ credits: 100, uses: 50 }), 'admin_required', 'second member');
    expectError(await create({ credits: 1, expires_at: '2020-01-01' }), 'validation_error', 'expires_at');
    const [entry] = await service.sql(
      `SELECT * FROM audit_entries WHERE action = 'giftCode.create' ORDER BY uuid DESC LIMIT 1`,
    );
    expect([entry.target_type, entry.reason, entry.after.credits]).to.deep.equal(['giftCode', 'a workshop', 900]);
  });

  it('of a member without the role admin are not redeemed by accounts of staff', async () => {
    const { code } = (await create({ credits: 2, uses: 9 }, 'finance')).body;
    for (const role of ['finance', 'support'] as const)
      expectError(await redeem(console.member(role), code), 'validation_error', 'may not credit this account');
    expect((await redeem(await service.createCustomer(null), code)).status).to.equal(200);
    const own = await createCode({ credits: 2 });
    expect((await redeem(console.member('admin'), own.code)).status).to.equal(200);
  });

  it('of a member without the role admin are not redeemed by accounts that it is a member of', async () => {
    const { code } = (await create({ credits: 2 }, 'finance')).body;
    const customer = await service.createCustomer(null);
    const email = console.email('finance');
    expect(await accept(console.member('finance'), await invite(customer, { email }, 'billing'))).to.equal(303);
    const body = { code };
    const ofMember = await console.member('finance').requestWithSession('POST', '/api/gift-codes/redeem/', { body });
    for (const response of [ofMember, await redeem(customer, code)])
      expectError(response, 'validation_error', 'may not credit this account');
    const own = await createCode({ credits: 2 });
    expect((await redeem(customer, own.code)).status).to.equal(200);
    const { uuid } = await findListed(customer, { email });
    await customer.requestWithSession('POST', `/api/members/${uuid}/remove/`, { body: {} });
    expect((await redeem(customer, code)).status).to.equal(200);
  });

  it('are created once by a form that is sent twice, and not with a number of uses that is not one', async () => {
    const page = '/admin/gift-codes/';
    const fields = {
      ...(await console.readForm(page)),
      credits: '25',
      uses: '50 ',
      note: 'sent twice',
      expires_at: '',
    };
    const [first, second] = [await console.send(page, fields), await console.send(page, fields)];
    expect(/GIFT-[0-9A-Z-]{19}/.exec(second.text)?.[0]).to.equal(/GIFT-[0-9A-Z-]{19}/.exec(first.text)?.[0]);
    expect(await service.sql(`SELECT uses_max FROM gift_codes WHERE note = 'sent twice'`)).to.deep.equal([
      { uses_max: 50 },
    ]);
    const wrong = await console.send(page, { ...fields, request: randomUUID(), uses: '1,000' });
    expect([wrong.status, wrong.text.includes('Uses must be an integer')]).to.deep.equal([400, true]);
  });

  it('are created, listed and revoked in the console, and redeemed on the billing page', async () => {
    const page = '/admin/gift-codes/';
    const fields = { ...(await console.readForm(page)), credits: '25', uses: '2', note: 'the fair', expires_at: '' };
    const created = await console.send(page, fields);
    const [code = ''] = /GIFT-[0-9A-Z-]{19}/.exec(created.text) ?? [];
    expect(code, created.text).not.to.equal('');
    expect((await console.visit(page)).text).not.to.include(code);
    expect((await console.send(page, { ...fields, credits: 'many' })).text).to.include('the fair');

    const customer = await service.createCustomer(null);
    const browser = createBrowserFor(customer);
    const billing = `${service.baseUrl}/account/billing/`;
    const form = () =>
      browser.request(billing).then(({ text }) => findForm(text, '/account/gift-codes/redeem/').fields);
    const address = `${service.baseUrl}/account/gift-codes/redeem/`;
    const wrong = await browser.submitForm(address, { ...(await form()), code: 'GIFT-1' });
    expect(wrong.text).to.include('There is no such gift code');
    const done = await browser.submitForm(address, { ...(await form()), code });
    expect([done.status, done.headers.get('location')]).to.deep.equal([303, '/account/billing/?done=gift']);
    expect(await customer.balance()).to.equal(25);

    const [{ uuid }] = await service.sql('SELECT uuid FROM gift_codes ORDER BY created_at DESC LIMIT 1');
    const revoked = await console.act(`${page}${uuid}/revoke/`);
    expect(revoked.headers.get('location')).to.equal(`${page}?done=revoked`);
    const entries = await service.sql('SELECT action, reason FROM audit_entries WHERE target_id = $1 ORDER BY uuid', [
      uuid,
    ]);
    expect(entries).to.deep.equal([
      { action: 'giftCode.create', reason: 'the fair' },
      { action: 'giftCode.revoke', reason: REASON },
    ]);
    expect((await console.visit(page)).text).to.include('revoked');
    const closed = await console.visit(`${page}${uuid}/revoke/`);
    expect(closed.text).to.include('already revoked').and.to.include('Back to the gift codes');
    expect(closed.text).to.include(`<a href="${page}" aria-current="page">`);
  });

  it('are created, listed and revoked by commands', async () => {
    const admin = (...args: string[]) => runAdminInProcess(args, service.env);
    const options = ['create-gift-code', '9', '--uses', '2', '--reason', 'ticket 7'];
    expect((await admin(...options)).out).to.include('would be created');
    const { out } = await admin(...options, '--apply');
    const [, code = '', uuid = ''] = /(GIFT-\S+): .* UUID is (\S+)\./.exec(out) ?? [];
    const customer = await service.createCustomer(null);
    expect((await redeem(customer, code)).body).to.deep.equal({ credits: 9, balance: 9 });
    expect((await admin('list-gift-codes')).out).to.match(new RegExp(`${uuid} .*1 of 2`));
    expect((await admin('revoke-gift-code', uuid, '--apply')).out).to.include('is revoked');
    expectError(await redeem(await service.createCustomer(null), code), 'validation_error', 'withdrawn');
  });
});

import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { HttpBrowser } from '../harness/httpBrowser.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const EXPORT = '/account/export/';

describe('the export of an account', () => {
  const service = useTestService({ workers: 0 });
  before(() => setAllModelsOnline(service));

  const at = (path: string) => service.baseUrl + path;
  /** Stores that an affiliate referred an account. */
  const createReferral = async (accountId: number) => {
    const affiliate = await service.createCustomer();
    await affiliate.request('POST', '/api/affiliate/enroll/', { body: {} });
    await service.sql(
      `INSERT INTO referrals (account_id, affiliate_id, clicked_at, network, created_at)
       SELECT $1, id, now(), 'a network', now() FROM accounts WHERE email = $2`,
      [accountId, affiliate.email],
    );
  };
  const download = (visitor: HttpBrowser) => sendAccountForm(service.baseUrl, visitor, EXPORT);

  it('is a JSON file with everything that is stored, in batches, and without secrets', async () => {
    const { customer, visitor } = await createVisitor(service, 'studio');
    const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
    await createReferral(id);
    await customer.createImage('a lighthouse to export');
    await completeAllGenerations(service, customer);
    await customer.request('POST', '/api/affiliate/enroll/', { body: {} });
    // More rows than one query reads.
    await service.sql(
      `INSERT INTO security_events (account_id, event, network, user_agent, details, created_at)
       SELECT a.id, 'key_created', '192.0.2.1', '', jsonb_build_object('name', i), now()
         FROM accounts a, generate_series(1, 1200) i WHERE a.email = $1`,
      [customer.email],
    );
    const { status, headers, text } = await download(visitor);
    expect([status, headers.get('content-disposition'), headers.get('cache-control')]).to.deep.equal([
      200,
      'attachment; filename="genmeter-account.json"',
      'no-store',
    ]);
    expect(headers.get('content-type')).to.include('application/json');
    const exported = JSON.parse(text);
    expect(exported).to.have.all.keys(
      'account',
      'identities',
      'sessions',
      'members',
      'invitations',
      'api_keys',
      'spending_limits',
      'applications',
      'security_events',
      'generations',
      'uploads',
      'generation_inputs',
      'ledger_entries',
      'subscriptions',
      'topups',
      'owed_refunds',
      'invoices',
      'referrals',
      'affiliates',
      'commissions',
      'payouts',
      'webhook_endpoints',
      'webhook_deliveries',
      'emails',
    );
    expect(exported.account.email).to.equal(customer.email);
    const [generation] = exported.generations;
    expect(generation.prompt).to.equal('a lighthouse to export');
    expect(generation.output_url).to.match(/^http/);
    expect(exported.ledger_entries).to.have.length(2);
    expect(exported.affiliates).to.have.length(1);
    // The sign-in, the key, the plan, the 1,200 rows and this export.
    expect(exported.security_events).to.have.length(1_204);
    expect(new Set(exported.security_events.map(({ details }: any) => details.name)).size).to.be.above(1_200);
    expect(exported.security_events.at(-1).event).to.equal('data_exported');
    expect(exported.referrals).to.have.length(1);
    expect(Object.keys(exported.referrals[0])).to.deep.equal(['clicked_at', 'created_at']);
    expect(text).to.not.match(
      /_hash|upstream|"id"|"(account|affiliate|subscription)_id"|export_position|media_token|_path"|provider_cost|leased_until/,
    );
    expect(text).to.not.match(
      /submit|next_attempt|next_poll|polled_at|deadline_at|sync|last_error|attempts|follow_up|refunded_upgrade|staff/,
    );
    expect(text).to.not.match(/declines|claimed_at|triggered_at|at_period_start|reversal_count|a network/);
    expect(text).to.not.include(customer.key);
  });

  it('names connected applications, and links no files of deleted generations', async () => {
    const { registerClient } = await import('../harness/oauthClient.ts');
    const { customer, visitor } = await createVisitor(service, 'pro');
    await (await registerClient(service.baseUrl)).authorizeAndExchange(customer);
    const { uuid } = await customer.createImage('to delete');
    await completeAllGenerations(service, customer);
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    const exported = JSON.parse((await download(visitor)).text);
    expect(exported.applications[0].application).to.be.a('string').and.to.not.equal('');
    expect(exported.generations[0]).to.include({ prompt: 'to delete', output_url: null });
  });

  it('requires a sign-in within the last 15 minutes, and returns to the page after it', async () => {
    const { customer, visitor } = await createVisitor(service);
    const { text: recent } = await visitor.request(at(EXPORT));
    await service.sql(
      `UPDATE sessions SET created_at = created_at - interval '16 minutes'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    const { findForm } = await import('../harness/httpBrowser.ts');
    const late = await visitor.submitForm(at(EXPORT), findForm(recent, EXPORT).fields);
    const again = `/sign-in?${new URLSearchParams({ again: 'yes', return_to: EXPORT }).toString()}`;
    expect([late.status, late.headers.get('location')]).to.deep.equal([303, again]);
    const { text } = await visitor.request(at(EXPORT));
    expect(text).to.not.include('<button type="submit" class="main">');
    const [, link = ''] = /href="(\/sign-in\?again=yes[^"]*)"/.exec(text) ?? [];
    const signIn = await visitor.request(at(link.replaceAll('&amp;', '&')));
    expect([signIn.status, signIn.text.includes('Sign in again')]).to.deep.equal([200, true]);
    const before = visitor.cookie('token');
    const form = findForm(signIn.text, '/sign-in');
    const signedIn = await visitor.submitForm(at('/sign-in'), { ...form.fields, email: customer.email });
    expect(signedIn.headers.get('location')).to.equal(EXPORT);
    expect(visitor.cookie('token')).to.not.equal(before);
    expect((await download(visitor)).status).to.equal(200);
  });

  it('is limited to five downloads within an hour, also for simultaneous requests', async () => {
    const { visitor } = await createVisitor(service);
    const answers = await Promise.all(Array.from({ length: 7 }, () => download(visitor)));
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b);
    expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 429, 429]);
    const limited = answers.find(({ status }) => status === 429);
    expect(limited?.text).to.include('5 times within an hour');
  });
});

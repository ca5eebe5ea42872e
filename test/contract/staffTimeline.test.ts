import { expect } from 'chai';
import { LIST_TIMELINE, TIMELINE_KINDS } from '../../shared/domain/staff/timeline.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, useStaffService } from '../harness/staffConsole.ts';

/** Lists the kinds of the entries on a page. */
const readKinds = (html: string) =>
  [...html.matchAll(/<tr><td><time[^>]*>[^<]*<\/time><\/td><td>(\w+)<\/td>/g)].map(([, kind]) => kind);

describe('the timeline of an account', () => {
  const { console, service } = useStaffService();
  let customer: TestCustomer;
  let account: string;
  let failed: string;
  before(async () => {
    await setAllModelsOnline(service);
    customer = await service.createCustomer('pro');
    account = `/admin/accounts/${await findAccountUuid(service, customer)}/`;
    await customer.createImage('a secret garden');
    await completeAllGenerations(service, customer);
    failed = (await customer.createImage('a private garden')).uuid;
    await customer.request('POST', `/api/generations/${failed}/cancel/`);
    await service.sql(`UPDATE generations SET error_message = 'Rejected: a private garden' WHERE uuid = $1`, [failed]);
    await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
    await console.act(`${account}adjust/`, { credits: '50', note: 'sorry' });
    await console.act(`${account}suspend/`);
    await console.act(`${account}reinstate/`);
  });

  const visit = async (query: string, role: 'admin' | 'support' = 'admin') =>
    (await console.visit(`${account}timeline/${query}`, role)).text;

  it('shows payments, the plan, credits, generations, security and staff, newest first', async () => {
    const html = await visit('');
    expect(new Set(readKinds(html))).to.deep.equal(
      new Set(['Payments', 'Plan', 'Credits', 'Generations', 'Security', 'Staff']),
    );
    for (const text of [
      'Top-up of $50',
      'Plan pro paid for',
      'Monthly credits',
      'API key “',
      'account.suspend',
      'sorry',
    ])
      expect(html).to.include(text);
    expect(readKinds(html)[0]).to.equal('Staff');
    expect(html).to.include(`href="/admin/generations/${failed}/"`);
  });

  it('shows neither prompts nor messages that may quote them', async () => {
    const html = await visit('');
    expect(html).to.match(/Rejected with a message of the upstream(&#39;|')s own/);
    expect(html).to.not.match(/garden|seeded/);
  });

  it('is filtered by kind and by time', async () => {
    for (const kind of TIMELINE_KINDS) {
      const kinds = new Set(readKinds(await visit(`?kind=${kind}`)));
      expect(
        [...kinds].map((name) => name?.toLowerCase()),
        kind,
      ).to.deep.equal([kind]);
    }
    expect(await visit('?to=2020-01-01'))
      .to.include('0 match')
      .and.to.include('Nothing matches.');
    const refused = await console.visit(`${account}timeline/?kind=money`);
    expect([refused.status, refused.text.includes('role="alert"')]).to.deep.equal([400, true]);
  });

  it('shows the actions of staff only to roles that may view the audit log', async () => {
    const html = await visit('', 'support');
    expect(html)
      .to.include('Monthly credits')
      .and.to.not.include('account.suspend')
      .and.to.not.include('value="staff"');
    expect(readKinds(await visit('?kind=staff', 'support'))).to.deep.equal([]);
  });

  it('reads an account with 12,000 generations by indexes, and pages through them', async () => {
    // An account of its own, so that the checks of the ledger do not apply to it.
    const many = 9_000_000;
    await service.sql(
      `INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                   generation_uuid, created_at)
       SELECT $1, n, CASE WHEN n % 10 = 0 THEN 'refund' ELSE 'burn' END, -8, -8, 0, 'Generation', gen_random_uuid(),
              now() - n * interval '1 minute' FROM generate_series(1, 12000) n`,
      [many],
    );
    await service.sql('ANALYZE ledger_entries');
    const client = await service.database.connect();
    try {
      const values: Record<string, unknown> = {
        accountId: many,
        kinds: [...TIMELINE_KINDS],
        after: '-infinity',
        before: 'infinity',
        max: 10_001,
        skip: 0,
        limit: 20,
        knownReasons: [],
        otherReason: '',
      };
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${LIST_TIMELINE.text}`,
        LIST_TIMELINE.parameters.map((name) => values[name]),
      );
      const [{ Plan: plan, 'Execution Time': milliseconds }] = rows[0]['QUERY PLAN'];
      expect(milliseconds).to.be.below(500);
      expect(JSON.stringify(plan)).to.include('ledger_entries_filter_idx');
    } finally {
      client.release(true);
      await service.sql('ALTER TABLE ledger_entries DISABLE TRIGGER ALL');
      await service.sql('DELETE FROM ledger_entries WHERE account_id = $1', [many]);
      await service.sql('ALTER TABLE ledger_entries ENABLE TRIGGER ALL');
    }
  });
});

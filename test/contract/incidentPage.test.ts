import { expect } from 'chai';
import { readIncident } from '../../shared/domain/staff/incident.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { useStaffService } from '../harness/staffConsole.ts';

const countFailed = async () => (await readIncident()).upstreams.reduce((sum, state) => sum + state.failed, 0);

describe('the incident page', () => {
  const { console, service } = useStaffService();
  let customers: TestCustomer[];
  before(async () => {
    await setAllModelsOnline(service);
    customers = [await service.createCustomer('pro'), await service.createCustomer('pro')];
  });

  const readSection = async (id: string, role: 'admin' | 'support' = 'admin') => {
    const { text } = await console.visit('/admin/incident/', role);
    return (text.split(`id="${id}"`)[1] ?? '').split('</section>')[0] ?? '';
  };

  /** Creates a generation, and lets it fail at an upstream with a message that quotes its prompt. */
  async function fail(customer: TestCustomer): Promise<string> {
    const { uuid } = await customer.createImage('a private garden');
    await customer.request('POST', `/api/generations/${uuid}/cancel/`);
    await service.sql(
      `UPDATE generations SET error_message = 'Rejected: a private garden', upstream = 'fal', upstream_model = 'v1'
        WHERE uuid = $1`,
      [uuid],
    );
    return uuid;
  }

  it('says that nothing fails while every upstream is online', async () => {
    await customers[0]?.createImage();
    await completeAllGenerations(service, customers[0] as TestCustomer);
    const { text } = await console.visit('/admin/incident/', 'support');
    expect(text)
      .to.include('No model or upstream fails.')
      .and.to.include('No generation of a customer failed.')
      .and.to.include('online');
  });

  it('shows what fails since when, with the last error, an example and the customers, and no prompts', async () => {
    for (const customer of customers) await fail(customer);
    const example = await fail(customers[1] as TestCustomer);
    const upstreams = await readSection('upstreams');
    expect(upstreams)
      .to.include('fal:v1')
      .and.to.include('3 of 3')
      .and.to.include('100 %')
      .and.to.include('no success in a week')
      .and.to.include(`href="/admin/generations/${example}/"`)
      .and.to.include('href="/admin/runbooks/GenmeterGenerationsFailing/"')
      .and.to.include('2 customers');
    expect(upstreams).to.not.include('garden');
    const affected = await readSection('customers');
    expect(affected.indexOf(customers[1]?.email ?? '')).to.be.below(affected.indexOf(customers[0]?.email ?? ''));
    expect(affected).to.match(/timeline\/\?kind=generations/);
  });

  it('counts neither generations that their owners canceled, nor those that ended earlier', async () => {
    const owner = customers[0] as TestCustomer;
    const { uuid } = await owner.createImage();
    await owner.request('POST', `/api/generations/${uuid}/cancel/`);
    expect(await countFailed()).to.equal(3);
    await service.moveClockTo(new Date(service.now.getTime() + 16 * 60_000));
    expect(await countFailed()).to.equal(0);
    await service.moveClockTo(new Date());
  });

  it('begins with upstreams that take no generations, and names the error of the health check', async () => {
    await service.sql(
      `UPDATE upstream_health SET status = 'offline', detail = 'connect ECONNREFUSED', circuit_open_until = now() + interval '1 minute'
        WHERE model = 'vidmodel-video' AND position = 0`,
    );
    const rows = (await readSection('upstreams')).split('<tr>').slice(2);
    expect(rows[0])
      .to.include('Video model')
      .and.to.include('offline')
      .and.to.include('circuit open')
      .and.to.include('Health check: connect ECONNREFUSED')
      .and.to.include('/admin/runbooks/GenmeterModelOffline/');
    await setAllModelsOnline(service);
  });

  it('counts refunds that are not issued, failing webhooks and tasks given up, with their age', async () => {
    const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [customers[0]?.email]);
    await service.sql(
      `INSERT INTO owed_refunds (invoice_id, account_id, cause, created_at)
       VALUES ('in_1', $1, 'unused', now() - interval '3 hours')`,
      [id],
    );
    await customers[0]?.request('POST', '/api/webhooks/create/', { body: { url: 'https://example.com/' } });
    await service.sql(
      `UPDATE webhook_endpoints SET failing_since = now() - interval '20 minutes', next_delivery_at = now() WHERE account_id = $1`,
      [id],
    );
    await service.sql(
      `INSERT INTO tasks (kind, key, account_id, run_at, attempts, last_error, created_at)
       VALUES ('payment.event', 'evt_1', NULL, NULL, 20, 'no such charge', now() - interval '4 days'),
              ('refund.issue', 'in_1', $1, now() + interval '1 hour', 3, 'no money', now() - interval '3 hours')`,
      [id],
    );
    const queues = await readSection('queues');
    for (const [label, age] of [
      ['Refunds owed', '3 h'],
      ['Failing webhook endpoints', '20 min'],
      ['Tasks that fail', '3 h'],
      ['Tasks given up', '4 days'],
    ])
      expect(queues).to.match(new RegExp(`<td>${label}</td><td class="number">1</td><td class="number">${age}</td>`));
    expect(await readSection('refunds'))
      .to.include('invoice in_1')
      .and.to.include('no money');
    expect(await readSection('queues', 'support')).to.not.include('/admin/reports/');
    await service.sql(`DELETE FROM owed_refunds WHERE invoice_id = 'in_1'`);
    await service.sql(`DELETE FROM tasks WHERE key IN ('evt_1', 'in_1')`);
    await service.sql('UPDATE webhook_endpoints SET failing_since = NULL, next_delivery_at = NULL');
  });

  it('links runbooks that the console shows, and no others', async () => {
    const list = await console.visit('/admin/runbooks/', 'support');
    const links = [...list.text.matchAll(/href="(\/admin\/runbooks\/\w+\/)"/g)].map(([, path]) => path as string);
    expect(links.length).to.be.above(25);
    const shown = await console.visit('/admin/runbooks/GenmeterModelOffline/', 'support');
    expect([shown.status, shown.text.includes('Configure a fallback')]).to.deep.equal([200, true]);
    expect((await console.visit('/admin/runbooks/README/')).status).to.equal(404);
    const { text } = await console.visit('/admin/incident/');
    for (const [, path] of text.matchAll(/href="(\/admin\/runbooks\/\w+\/)"/g)) expect(links).to.include(path);
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { ALL_ROUTES, isChange } from '../harness/routes.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { addMember, findListed, handOver } from '../harness/members.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { findAccountUuid, readAudit, REASON, useStaffService } from '../harness/staffConsole.ts';

/**
 * Fills the console with what a staff action needs. @returns the path of the action, what is typed into its form, and
 * whether it affects no single account.
 */
type Fixture = () => Promise<{ action: string; typed?: Record<string, string>; page?: string; hasNoAccount?: boolean }>;

/** Staff routes that change something. Those of gift codes, which have no account, are tested by contract/giftCodes. */
const CHANGES = ALL_ROUTES.filter(({ served }) => served.permission !== undefined)
  .filter((route) => isChange(route) && !route.path.includes('/gift-codes/'))
  .map(({ name }) => name);

/** Lists the actions in the table on a page. */
const listActions = (html: string) =>
  [...html.matchAll(/<td>((?:account|credits|generation|key|member|queue|topup)\.[a-z_]+)<\/td>/g)].map(
    ([, name]) => name,
  );

describe('the audit log', () => {
  const { console, service } = useStaffService();
  let customer: TestCustomer;
  before(() => setAllModelsOnline(service));
  beforeEach(async () => {
    customer = await service.createCustomer('pro');
  });
  afterEach(() => service.moveClockTo(new Date()));

  const onAccount =
    (action: string, typed = {}): Fixture =>
    async () => ({ action: `/admin/accounts/${await findAccountUuid(service, customer)}/${action}/`, typed });

  const onApproval =
    (decision: string): Fixture =>
    async () => {
      const uuid = randomUUID();
      await service.sql(
        `INSERT INTO staff_approvals (uuid, account_id, credits, note, reason, requested_by, requested_at,
                                      request_id, ip_address)
         SELECT $1, c.id, 50, '', 'test', f.id, now(), 'earlier', '127.0.0.1'
           FROM accounts c, accounts f WHERE c.email = $2 AND f.email = $3`,
        [uuid, customer.email, console.email('finance')],
      );
      return { action: `/admin/approvals/${uuid}/${decision}/` };
    };

  const makeGeneration = async () => {
    const { uuid } = await customer.createImage();
    await completeAllGenerations(service, customer);
    return uuid as string;
  };

  const addFailingTask = async () => {
    const [{ id }] = await service.sql(
      `INSERT INTO tasks (kind, key, account_id, run_at, attempts, created_at)
       SELECT 'payout.transfer', gen_random_uuid(), id, now() + interval '1 hour', 1, now() FROM accounts WHERE email = $1
       RETURNING id`,
      [customer.email],
    );
    return id as number;
  };

  const FIXTURES: Record<string, Fixture> = {
    'POST /admin/accounts/:uuid/adjust/': onAccount('adjust', { credits: '50', note: 'sorry' }),
    'POST /admin/approvals/:uuid/approve/': onApproval('approve'),
    'POST /admin/approvals/:uuid/reject/': onApproval('reject'),
    'POST /admin/accounts/:uuid/suspend/': onAccount('suspend'),
    'POST /admin/accounts/:uuid/reinstate/': async () => {
      const uuid = await findAccountUuid(service, customer);
      service.fabricated.add('suspensions-are-audited');
      await service.sql('UPDATE accounts SET suspended_at = now() WHERE uuid = $1', [uuid]);
      return { action: `/admin/accounts/${uuid}/reinstate/` };
    },
    'POST /admin/accounts/:uuid/sign-out/': onAccount('sign-out'),
    'POST /admin/accounts/:uuid/revoke-access/': onAccount('revoke-access'),
    'POST /admin/members/:uuid/remove/': async () => {
      const { uuid } = await findListed(customer, await addMember(customer, 'admin'));
      return { action: `/admin/members/${uuid}/remove/` };
    },
    'POST /admin/keys/:uuid/revoke/': async () => {
      const { data } = (await customer.request('GET', '/api/keys/')).body;
      return { action: `/admin/keys/${data[0].uuid}/revoke/` };
    },
    'POST /admin/topups/:uuid/refund/': async () => {
      await customer.request('POST', '/api/billing/topup/', { body: { amount_cents: 5_000 } });
      const [{ uuid }] = await service.sql('SELECT uuid FROM topups ORDER BY created_at DESC LIMIT 1');
      return { action: `/admin/topups/${uuid}/refund/` };
    },
    'POST /admin/refunds/:key/close/': async () => {
      const key = `in_${randomUUID()}`;
      await service.sql(
        `INSERT INTO owed_refunds (invoice_id, account_id, cause, status, created_at, completed_at)
         SELECT $1, id, 'unused', 'rejected', now(), now() FROM accounts WHERE email = $2`,
        [key, customer.email],
      );
      return { action: `/admin/refunds/${key}/close/` };
    },
    'POST /admin/generations/:uuid/content/': async () => {
      const uuid = await makeGeneration();
      return { action: `/admin/generations/${uuid}/content/`, page: `/admin/generations/${uuid}/` };
    },
    'POST /admin/generations/:uuid/refund/': async () => ({
      action: `/admin/generations/${await makeGeneration()}/refund/`,
    }),
    'POST /admin/generations/:uuid/requeue/': async () => {
      const { uuid } = await customer.createImage();
      await service.moveClockTo(new Date(service.now.getTime() + 180_000));
      return { action: `/admin/generations/${uuid}/requeue/` };
    },
    'POST /admin/tasks/:id/run/': async () => ({ action: `/admin/tasks/${await addFailingTask()}/run/` }),
    'POST /admin/tasks/kinds/:kind/run/': async () => {
      await addFailingTask();
      return { action: '/admin/tasks/kinds/payout.transfer/run/', hasNoAccount: true };
    },
    'POST /admin/upstreams/': async () => {
      const { text } = await console.visit('/admin/upstreams/');
      const [, upstream = ''] = /<option[^>]* value="([^"]+)"/.exec(text) ?? [];
      const page = `/admin/upstreams/?${new URLSearchParams({ upstream, prompt: 'a lighthouse' }).toString()}`;
      return { action: '/admin/upstreams/', page, hasNoAccount: true };
    },
  };

  const countEntries = async (requestId: string) =>
    service.sql('SELECT * FROM audit_entries WHERE request_id = $1', [requestId]);

  it('covers every staff route that changes something', () => {
    expect(CHANGES.filter((name) => !name.startsWith('*'))).to.have.members(Object.keys(FIXTURES));
    // Both are the queue board.
    expect(CHANGES.filter((name) => name.startsWith('*'))).to.deep.equal([
      '* /admin/queues/api/*',
      '* /admin/queues/*',
    ]);
  });

  for (const name of CHANGES.filter((change) => !change.startsWith('*'))) {
    it(`has exactly one entry for ${name}, and none for its rejected form`, async () => {
      const fixture = FIXTURES[name];
      if (fixture === undefined) throw new Error(`${name} has no fixture: write one that performs it.`);
      const { action, typed = {}, page, hasNoAccount = false } = await fixture();
      const fields = { ...(await console.readForm(action, 'admin', page)), ...typed };
      const rejectedId = `rejected-${randomUUID()}`;
      const rejected = await console.send(
        action,
        { ...fields, reason: ' ' },
        { headers: { 'x-request-id': rejectedId } },
      );
      expect([rejected.status, rejected.text.includes('Enter a reason')]).to.deep.equal([400, true]);
      expect(await countEntries(rejectedId)).to.deep.equal([]);

      const requestId = `audited-${randomUUID()}`;
      const { status } = await console.send(action, fields, { headers: { 'x-request-id': requestId } });
      expect(status).to.be.oneOf([200, 303]);
      const entries = await countEntries(requestId);
      expect(entries).to.have.length(1);
      const [{ id: actorId }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [console.email('admin')]);
      const [{ id: accountId }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
      expect(entries[0]).to.deep.include({
        actor_account_id: actorId,
        account_id: hasNoAccount ? null : accountId,
        role: 'admin',
        command_user: null,
        reason: REASON,
        ip_address: '127.0.0.1',
      });
    });
  }

  for (const path of ['/admin/queues/api/queues/media/pause', '/admin/queues/api/queues/media/resume']) {
    it(`has exactly one entry for PUT ${path}, and none for a rejected one`, async () => {
      const change = (requestId: string, origin: string) =>
        service.request('PUT', path, {
          headers: { cookie: console.member('ops').cookie, origin, 'x-request-id': requestId },
        });
      const [rejectedId, requestId] = [`rejected-${randomUUID()}`, `audited-${randomUUID()}`];
      expect((await change(rejectedId, 'https://evil.example')).status).to.equal(401);
      expect(await countEntries(rejectedId)).to.deep.equal([]);
      expect((await change(requestId, service.baseUrl)).status).to.equal(200);
      const entries = await countEntries(requestId);
      expect(entries).to.have.length(1);
      expect(entries[0]).to.deep.include({
        action: 'queue.change',
        account_id: null,
        role: 'ops',
        target_type: 'queue',
        target_id: 'media',
        after: { change: path.split('/').at(-1) },
      });
    });
  }

  const changeQueue = (method: string, path: string, options: object = {}) => {
    const requestId = `audited-${randomUUID()}`;
    const headers = { cookie: console.member('ops').cookie, origin: service.baseUrl, 'x-request-id': requestId };
    return service
      .request(method, `/admin/queues/api/queues/${path}`, { headers, ...options })
      .then(async ({ status }) => ({ status, entries: await countEntries(requestId) }));
  };

  it('records the queue that the board changes, however its name is encoded, and what was sent with the change', async () => {
    const paused = await changeQueue('PUT', 'm%65dia/pause');
    expect([paused.status, paused.entries[0].target_id, paused.entries[0].after]).to.deep.equal([
      200,
      'media',
      { change: 'pause' },
    ]);
    expect((await changeQueue('PUT', 'media/resume')).status).to.equal(200);
    const limited = await changeQueue('PUT', 'media/concurrency', { body: { concurrency: 5 } });
    expect(limited.entries[0].after).to.deep.equal({ change: 'concurrency', body: '{"concurrency":5}' });
    const schedule = { pattern: '0 3 * * *', tz: 'Europe/Berlin'.padEnd(3_000) };
    const [id, body] = ['x'.repeat(300), JSON.stringify(schedule)];
    const long = await changeQueue('PATCH', `media/job-schedulers/${id}`, { body: schedule });
    expect(long.entries[0].after).to.deep.equal({ change: `job-schedulers/${id}`, body });
  });

  const countBillingJobs = async () => {
    const { body } = await service.request('GET', '/admin/queues/api/queues', {
      headers: { cookie: console.member('ops').cookie },
    });
    return body.queues.find(({ name }: { name: string }) => name === 'billing').counts;
  };

  it('has no entry for a change that the board does not offer, in any spelling, and the board does not make it', async () => {
    const job = { name: 'any', data: { uuid: 'any' }, options: {} };
    const before = await countBillingJobs();
    for (const [method, path] of [
      ['POST', 'billing/add'],
      ['POST', 'billing/ADD'],
      ['POST', 'bill%69ng/Add'],
      ['POST', '../Queues/billing/ADD'],
      ['PATCH', 'media/7/update-data'],
      ['PATCH', 'media/1/Update-Data'],
      ['PUT', 'media/PAUSE'],
      ['PUT', 'unknown/pause'],
      ['PUT', 'media%00/pause'],
      ['PUT', 'media/%ff/retry'],
      ['DELETE', 'media/7'],
    ] as const) {
      const { status, entries } = await changeQueue(method, path, { body: job });
      expect([status, entries], path).to.deep.equal([404, []]);
    }
    expect(await countBillingJobs()).to.deep.equal(before);
  });

  it('is append-only: the database rejects UPDATE, DELETE and TRUNCATE', async () => {
    await console.act(...(await toArguments(onAccount('sign-out'))));
    for (const statement of [
      `UPDATE audit_entries SET reason = 'x'`,
      'DELETE FROM audit_entries',
      'TRUNCATE audit_entries',
    ])
      await expectRejection(service.sql(statement), /audit_entries is append-only/);
    expect(await readAudit(service, customer)).to.have.length(1);
  });

  it('records the values before and after an action', async () => {
    const balance = await customer.balance();
    await console.act(...(await toArguments(onAccount('adjust', { credits: '50' }))));
    const [entry] = await readAudit(service, customer);
    expect(entry.before).to.deep.equal({ balance, topupCredits: 0 });
    expect(entry.after).to.deep.include({ balance: balance + 50, topupCredits: 50, credits: 50 });
  });

  describe('its page', () => {
    it('shows entries newest first, by account and by staff member, in pages', async () => {
      const uuid = await findAccountUuid(service, customer);
      for (let credits = 1; credits <= 21; credits += 1)
        await console.act(`/admin/accounts/${uuid}/adjust/`, { credits: String(credits) }, 'finance');
      await console.act(`/admin/accounts/${uuid}/sign-out/`, {}, 'support');
      const first = await console.visit(`/admin/audit/?account=${uuid}`, 'ops');
      expect(first.status).to.equal(200);
      expect(listActions(first.text)).to.deep.equal(['account.sign_out', ...Array(19).fill('credits.adjust')]);
      const next = /href="(\/admin\/audit\/\?[^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const second = await console.visit(next, 'ops');
      expect(listActions(second.text)).to.deep.equal(['credits.adjust', 'credits.adjust']);
      expect(second.text).to.not.include('rel="next"');

      const bySupport = await console.visit(
        `/admin/audit/?account=${customer.email}&actor=${console.email('support')}`,
      );
      expect(listActions(bySupport.text)).to.deep.equal(['account.sign_out']);
      expect(bySupport.text).to.include(REASON).and.to.include(customer.email).and.to.include(console.email('support'));
    });

    it('orders entries by their number, not by the clocks of processes', async () => {
      const uuid = await findAccountUuid(service, customer);
      await service.sql(
        `INSERT INTO audit_entries (uuid, created_at, command_user, role, action, account_id, target_type, target_id, reason)
         SELECT cast(name AS uuid), now(), 'root', 'system', action, a.id, 'account', 'x', 'test'
           FROM accounts a, (VALUES (1, 'ffffffff-0000-7000-8000-000000000000', 'account.suspend'),
                                    (2, '00000000-0000-7000-8000-000000000000', 'account.reinstate')) v (place, name, action)
          WHERE a.uuid = $1 ORDER BY place`,
        [uuid],
      );
      const { text } = await console.visit(`/admin/audit/?account=${uuid}`);
      expect(listActions(text)).to.deep.equal(['account.reinstate', 'account.suspend']);
    });

    it('shows none of several accounts with an address, and names them', async () => {
      const owner = await service.createCustomer(null);
      const uuid = await findAccountUuid(service, customer);
      const handedOver = await findAccountUuid(service, owner);
      await handOver(owner, customer);
      const { status, text } = await console.visit(`/admin/audit/?account=${customer.email}`);
      expect([status, text.includes('2 accounts have this address')]).to.deep.equal([400, true]);
      expect(text).to.include(uuid).and.include(handedOver);
      expect((await console.visit(`/admin/audit/?account=${handedOver}`)).status).to.equal(200);
    });

    it('rejects unknown accounts and invalid cursors with a message', async () => {
      const unknown = await console.visit('/admin/audit/?account=unknown@example.com');
      expect([unknown.status, unknown.text.includes('No single account matches')]).to.deep.equal([404, true]);
      for (const before of ['x', randomUUID(), '-1', '9'.repeat(16)]) {
        const invalid = await console.visit(`/admin/audit/?before=${before}`);
        expect([invalid.status, invalid.text.includes('role="alert"')], before).to.deep.equal([400, true]);
      }
    });
  });

  /** Arguments of `act` for a fixture. */
  async function toArguments(fixture: Fixture): Promise<[string, Record<string, string>]> {
    const { action, typed = {} } = await fixture();
    return [action, typed];
  }
});

import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { getDefaultSecret } from '../../shared/domain/webhooks/defaultEndpoint.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { createEndpoint } from '../../shared/domain/webhooks/endpoints.ts';
import { useBillingService } from '../harness/billingService.ts';
import { TestCustomer } from '../harness/apiClient.ts';
import { getCookie } from '../harness/affiliates.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { sendAccountForm } from '../harness/accountForms.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { getAccountId, readDeliveries } from '../harness/outbox.ts';
import { eventually } from '../harness/testService.ts';
import { runDueTasks, runTasksNow } from '../harness/tasks.ts';

/** Texts of a person, each of which occurs nowhere else. */
const PERSON = {
  email: `zaphod-${randomUUID()}@betelgeuse.example`,
  firstName: 'Zaphodname',
  useCase: 'Zaphodpurpose',
  keyName: 'Zaphodkey',
  prompt: 'Zaphodprompt in a spaceship',
  deletedPrompt: 'Zaphoddeleted in a spaceship',
  idempotencyKey: 'Zaphodidempotency',
  userAgent: 'Zaphodbrowser/42.0',
  network: '198.51.100.42',
  subject: 'Zaphodsubject',
  linkedEmail: 'zaphod-linked@betelgeuse.example',
  endpointUrl: 'https://zaphodendpoint.invalid/',
  webhookUrl: 'https://zaphodwebhook.invalid/',
  metadata: 'Zaphodmetadata',
};

describe('the erasure of an account', () => {
  const billing = useBillingService({ env: { TRUSTED_PROXIES: '1' } });

  const headers = { 'user-agent': PERSON.userAgent, 'x-forwarded-for': PERSON.network };

  /** Lists the tables with a row that contains one of the texts. */
  async function findInDatabase(texts: string[]): Promise<string[]> {
    const tables = await billing.service.sql(
      `SELECT format('%I', table_name) AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await billing.service.sql(`SELECT t::text AS row FROM ${name} t`);
      for (const text of texts)
        if (rows.some(({ row }) => row.toLowerCase().includes(text.toLowerCase()))) found.push(`${name}: ${text}`);
    }
    return found.sort((a, b) => a.localeCompare(b));
  }

  async function listMediaFiles(): Promise<string[]> {
    const folder = billing.service.env['MEDIA_DIR'] as string;
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  async function createPerson(): Promise<TestCustomer> {
    const { baseUrl } = billing.service;
    const signIn = await billing.service.request('POST', '/authentication/dev/sign-in/', {
      body: { email: PERSON.email },
      headers,
    });
    const session = new TestCustomer(baseUrl, PERSON.email, getCookie(signIn, 'token') as string, '');
    const send = (method: string, path: string, body: object) =>
      session.requestWithSession(method, path, { body, headers });
    const { body } = await send('POST', '/api/keys/create/', { name: PERSON.keyName });
    await send('PATCH', '/authentication/me/', { first_name: PERSON.firstName, use_case: PERSON.useCase });
    const person = new TestCustomer(baseUrl, PERSON.email, session.cookie, body.key);
    await billing.subscribe(person, 'pro');
    await billing.topUp(person, 5_000);
    return person;
  }

  it('leaves no text of the person in any table, and no file', async () => {
    const person = await createPerson();
    await billing.service.sql(
      `INSERT INTO identities (uuid, provider, issuer, subject, person_id, email, created_at)
       SELECT gen_random_uuid(), 'google', 'https://accounts.example', $2, id, $3, now() FROM people WHERE email = $1`,
      [PERSON.email, PERSON.subject, PERSON.linkedEmail],
    );
    await createEndpoint(buildServiceCaller(await getAccountId(billing.service, person)), { url: PERSON.endpointUrl });
    const create = async (prompt: string, more = {}) => {
      const response = await person.request('POST', '/api/generations/create/', {
        body: {
          model: 'imgmodel-2',
          prompt,
          params: { resolution: '1K' },
          webhook_url: PERSON.webhookUrl,
          metadata: { who: PERSON.metadata },
        },
        headers: { ...headers, ...more },
      });
      return (await person.waitForEnd(response.body.uuid)).uuid as string;
    };
    await create(PERSON.prompt, { 'idempotency-key': PERSON.idempotencyKey });
    await person.request('DELETE', `/api/generations/${await create(PERSON.deletedPrompt)}/`);
    await person.request('POST', '/api/affiliate/enroll/', { body: {} });
    await (await registerClient(billing.service.baseUrl)).authorizeAndExchange(person);
    // An event with the data of the customer.
    const { store } = billing.stripe;
    store.emit('customer.updated', store.get('customer', billing.customerId(person)));
    await billing.drained();
    await eventually('webhooks are recorded', async () => (await readDeliveries(billing.service, person)).length > 3);

    const texts = Object.values(PERSON);
    const before = await findInDatabase(texts);
    for (const text of texts) expect(before.join('\n'), 'the test has stored it').to.include(text);
    expect(before.join('\n')).to.include(`payment_events: ${PERSON.email}`);
    expect(await listMediaFiles()).to.not.deep.equal([]);

    const countEntries = `SELECT a.id, count(*)::int AS entries FROM accounts a JOIN ledger_entries e ON e.account_id = a.id`;
    const [{ id, entries }] = await billing.service.sql(`${countEntries} WHERE a.email = $1 GROUP BY a.id`, [
      PERSON.email,
    ]);
    const visitor = createBrowserFor(person);
    const answer = await sendAccountForm(billing.service.baseUrl, visitor, '/account/delete/', {
      email: PERSON.email,
    });
    expect(answer.status).to.equal(303);
    await runDueTasks(billing.service);
    await billing.drained();
    await billing.service.sql(
      `UPDATE account_deletions SET erase_at = now() - interval '1 second' WHERE account_id = $1`,
      [id],
    );
    await runTasksNow(billing.service, 'account.delete');
    // Events that arrive later, such as that of the canceled subscription.
    await billing.drained();
    await eventually('the files are deleted', async () => (await listMediaFiles()).length === 0);

    // By a request that was authenticated before.
    const outcome = await getDefaultSecret(Number(id)).then(
      () => 'created',
      (error) => error.code,
    );
    expect(outcome).to.equal('not_found');
    expect(await findInDatabase(texts)).to.deep.equal([]);
    const remains =
      'SELECT 1 FROM webhook_endpoints WHERE account_id = $1 UNION ALL SELECT 1 FROM emails WHERE account_id = $1';
    expect(await billing.service.sql(remains, [id])).to.deep.equal([]);
    for (const path of await listMediaFiles()) expect(await readFile(path, 'latin1')).to.not.include('Zaphod');
    const [row] = await billing.service.sql('SELECT * FROM accounts WHERE id = $1', [id]);
    const [kept] = await billing.service.sql(`${countEntries} WHERE a.id = $1 GROUP BY a.id`, [id]);
    // With the expiry of the plan credits.
    expect(kept.entries).to.equal(entries + 1);
    const [{ topups }] = await billing.service.sql('SELECT count(*)::int AS topups FROM topups WHERE account_id = $1', [
      id,
    ]);
    expect(topups).to.equal(1);
    expect(billing.stripe.store.find('customer', row.stripe_customer_id)).to.equal(undefined);
  });
});

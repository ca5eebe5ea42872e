import { expect } from 'chai';
import { request, type TestCustomer } from '../harness/apiClient.ts';
import {
  createPkce,
  loadConsentPage,
  OAuthTestClient,
  postUrlEncoded,
  registerClient,
} from '../harness/oauthClient.ts';
import { eventually, useTestService } from '../harness/testService.ts';

describe('retention of OAuth clients', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer(null);
  });

  const known = async (client?: OAuthTestClient) =>
    (await service.sql('SELECT 1 FROM oauth_clients WHERE client_id = $1', [client?.clientId])).length === 1;

  it('a client is deleted if it is not approved within a day or not used for 90 days', async () => {
    const [unused, fresh, disused, connected] = await Promise.all(
      Array.from({ length: 4 }, () => registerClient(service.baseUrl)),
    );
    await connected!.authorizeAndExchange(customer);
    const set = (client: OAuthTestClient | undefined, created: string, used: string | null) =>
      service.sql(
        `UPDATE oauth_clients SET created_at = now() - cast($2 AS interval), last_used_at = now() - cast($3 AS interval) WHERE client_id = $1`,
        [client?.clientId, created, used],
      );
    await Promise.all([
      set(unused, '25 hours', null),
      set(fresh, '23 hours', null),
      set(disused, '100 days', '91 days'),
      set(connected, '100 days', '91 days'),
    ]);
    await service.startWorker();
    await eventually('both are deleted', async () => !(await known(unused)) && !(await known(disused)));
    expect([await known(fresh), await known(connected)]).to.deep.equal([true, true]);
  });

  it('a client is deleted also while the deletion of expired codes fails', async () => {
    const unused = await registerClient(service.baseUrl);
    await service.sql(`UPDATE oauth_clients SET created_at = now() - interval '25 hours' WHERE client_id = $1`, [
      unused.clientId,
    ]);
    await service.sql('ALTER TABLE oauth_codes RENAME TO hidden_oauth_codes');
    try {
      await service.startWorker({ REDIS_PREFIX: 'codes' });
      await eventually('deleted', async () => !(await known(unused)));
    } finally {
      await service.sql('ALTER TABLE hidden_oauth_codes RENAME TO oauth_codes');
    }
  });

  it('of the unapproved clients only the 10,000 newest are kept', async () => {
    const connected = await registerClient(service.baseUrl);
    await connected.authorizeAndExchange(customer);
    await service.sql(
      `INSERT INTO oauth_clients (client_id, name, redirect_uris, created_at)
       SELECT 'flood-' || number, 'flood', '{https://flood.example/}', now() - interval '12 hours' + number * interval '1 second'
         FROM generate_series(1, 12000) AS number`,
    );
    const newest = await registerClient(service.baseUrl);
    // One of the oldest, kept because a user has its consent page open.
    const asked = new OAuthTestClient(service.baseUrl, 'flood-1', 'https://flood.example/');
    await loadConsentPage(service.baseUrl, customer, asked.authorizePath(createPkce().challenge));
    const unapproved = async () =>
      Number(
        (
          await service.sql(`SELECT count(*) FROM oauth_clients WHERE name = 'flood' AND approval_requested_at IS NULL`)
        )[0].count,
      );
    // Its own Redis prefix gives it its own schedule, so that it prunes immediately.
    await service.startWorker({ REDIS_PREFIX: 'flood' });
    await eventually('the oldest are deleted', async () => (await unapproved()) <= 10_000);
    expect(await unapproved()).to.equal(10_000);
    const left = await service.sql(
      `SELECT min(created_at) FILTER (WHERE name = 'flood' AND approval_requested_at IS NULL) > now() - interval '12 hours' + interval '1900 seconds' AS are_newest,
              count(*) FILTER (WHERE client_id = ANY ($1)) AS others
         FROM oauth_clients`,
      [[connected.clientId, newest.clientId, asked.clientId]],
    );
    expect([left[0].are_newest, Number(left[0].others)]).to.deep.equal([true, 3]);
    expect((await request(service.baseUrl, 'GET', newest.authorizePath(createPkce().challenge))).status).to.equal(303);
    await service.sql(`DELETE FROM oauth_clients WHERE name = 'flood'`);
  });

  it('an approval of a client that was deleted meanwhile creates no grant and asks the client to register again', async () => {
    const client = await registerClient(service.baseUrl);
    const path = client.authorizePath(createPkce().challenge);
    const { token } = await loadConsentPage(service.baseUrl, customer, path);
    const deletion = await service.database.connect();
    try {
      await deletion.query('BEGIN');
      await deletion.query('DELETE FROM oauth_clients WHERE client_id = $1', [client.clientId]);
      const headers = { cookie: customer.cookie, origin: service.baseUrl };
      const approving = postUrlEncoded(service.baseUrl, path, { csrf_token: token, decision: 'allow' }, headers);
      await eventually('the approval waits for the deletion', async () => {
        const waiting = await service.sql(
          `SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%oauth_grants%'`,
        );
        return waiting.length === 1;
      });
      await deletion.query('COMMIT');
      const { status, headers: sent, body } = await approving;
      expect([status, sent.get('location')], body).to.deep.equal([400, null]);
      expect(body).to.include('register again');
    } finally {
      await deletion.query('ROLLBACK');
      deletion.release();
    }
    const granted = await service.sql('SELECT 1 FROM oauth_grants WHERE client_id = $1', [client.clientId]);
    expect(granted).to.deep.equal([]);
  });
});

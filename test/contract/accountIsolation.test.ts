import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type ApiResponse, type TestCustomer, request } from '../harness/apiClient.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { buildToolCall, INITIALIZE, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { addMember, findListed, invite, withKey } from '../harness/members.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { buildPath, isChange, type Route, ROUTES } from '../harness/routes.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

describe('resources of another account', () => {
  const service = useTestService({ workers: 0 });
  let owner: TestCustomer;
  let stranger: TestCustomer;
  let token: string;
  before(async () => {
    await setAllModelsOnline(service);
    [owner, stranger] = await Promise.all([service.createCustomer('studio'), service.createCustomer('pro')]);
    token = (await (await registerClient(service.baseUrl)).authorizeAndExchange(owner)).access_token;
  });

  const findUuid = async (sql: string) => (await service.sql(sql, [owner.email]))[0]?.uuid as string | undefined;

  async function makeKey(): Promise<string> {
    return (await owner.request('POST', '/api/keys/create/', { body: { name: 'a thing' } })).body.uuid;
  }

  async function isKeyActive(uuid: string): Promise<boolean> {
    const { data } = (await owner.request('GET', '/api/keys/')).body;
    return data.some((key: { uuid: string; revoked: boolean }) => key.uuid === uuid && !key.revoked);
  }

  const csrfFields = new Map<string, Record<string, string>>();

  /** Reads the hidden fields that every form of a session has, once for each session. */
  async function readCsrfFields(customer: TestCustomer): Promise<Record<string, string>> {
    const known = csrfFields.get(customer.cookie);
    if (known !== undefined) return known;
    const { text } = await createBrowserFor(customer).request(`${service.baseUrl}/account/settings/`);
    const { fields } = findForm(text, '/account/profile/');
    csrfFields.set(customer.cookie, fields);
    return fields;
  }

  /** Requests a resource through a route. @returns the status, and the part of the response that depends on it. */
  async function requestResource(row: Route, customer: TestCustomer, uuid: string): Promise<[number, unknown]> {
    if (row.credential !== 'member') {
      const options = row.path in BODIES ? { body: BODIES[row.path] } : {};
      const send = row.credential === 'cookie' ? 'requestWithSession' : 'request';
      const { status, body }: ApiResponse = await customer[send](row.method, buildPath(row, uuid), options);
      return [status, body];
    }
    const visitor = createBrowserFor(customer);
    const fields = isChange(row) ? await readCsrfFields(customer) : {};
    const address = service.baseUrl + buildPath(row, uuid);
    const { status, text } = isChange(row)
      ? await visitor.submitForm(address, { ...fields, ...FORM_FIELDS[row.path] })
      : await visitor.request(address);
    return [status, /role="alert"[^>]*>(.*?)<\//s.exec(text)?.[1]];
  }

  /** Connects another application. @returns the uuid of its grant. */
  async function makeGrant(): Promise<string> {
    await (await registerClient(service.baseUrl)).authorizeAndExchange(owner);
    const newest = `SELECT t.uuid FROM oauth_grants t ${FROM_OWNER} ORDER BY t.uuid DESC LIMIT 1`;
    return (await findUuid(newest)) as string;
  }

  /** Creates the only webhook endpoint of the owner, with a failed delivery that has the same uuid. */
  async function makeWebhook(): Promise<string> {
    for (const { uuid } of (await owner.request('GET', '/api/webhooks/')).body.data)
      await owner.request('DELETE', `/api/webhooks/${uuid}/`);
    const body = { url: 'https://example.com/' };
    const { uuid } = (await owner.request('POST', '/api/webhooks/create/', { body })).body;
    await owner.request('POST', `/api/webhooks/${uuid}/test/`);
    await service.sql(
      `UPDATE webhook_deliveries SET uuid = $1, status = 'failed', next_attempt_at = NULL
        WHERE endpoint_id = (SELECT id FROM webhook_endpoints WHERE uuid = $1)`,
      [uuid],
    );
    return uuid;
  }

  /** Bodies of requests that change nothing without one. */
  const BODIES: Record<string, object> = {
    '/api/keys/:uuid/': { name: 'another name' },
    '/api/members/:uuid/': { role: 'admin' },
  };
  /** Fields of forms that need more than the CSRF token. */
  const FORM_FIELDS: Record<string, Record<string, string>> = {
    '/account/webhooks/:uuid/': { action: 'disable' },
    '/account/keys/:uuid/': { name: 'stolen' },
    '/account/members/:uuid/': { role: 'admin', limit_credits: '', limit_period: 'day' },
    '/account/applications/:uuid/limit/': { limit_credits: '7', limit_period: 'day' },
  };

  const isWebhookUnchanged = async (uuid: string) =>
    (await service.sql('SELECT 1 FROM webhook_endpoints WHERE uuid = $1 AND updated_at = created_at', [uuid]))
      .length === 1;

  const hasNoDelivery = (condition: string) => async (uuid: string) =>
    (
      await service.sql(
        `SELECT 1 FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
          WHERE w.uuid = $1 AND ${condition}`,
        [uuid],
      )
    ).length === 0;

  const FROM_OWNER = 'JOIN accounts a ON a.id = t.account_id WHERE a.email = $1';

  const readAccounts = async () => (await owner.requestWithSession('GET', '/authentication/accounts/')).body.accounts;

  async function makeMember(): Promise<string> {
    return (await findListed(owner, await withKey(await addMember(owner, 'developer')))).uuid;
  }

  async function isMemberUnchanged(uuid: string): Promise<boolean> {
    const { body } = await owner.request('GET', '/api/members/');
    const member = body.data.find((listed: { uuid: string }) => listed.uuid === uuid);
    return member.role === 'developer' && member.removed_at === null && member.api_keys === 1;
  }

  async function makeInvitation(): Promise<string> {
    await invite(owner, { email: `${randomUUID()}@example.com` }, 'viewer');
    return (await owner.request('GET', '/api/invitations/')).body.data[0].uuid;
  }

  const isInvitationUnchanged = async (uuid: string) =>
    (await service.sql('SELECT 1 FROM invitations WHERE uuid = $1 AND revoked_at IS NULL AND sent_count = 1', [uuid]))
      .length === 1;

  /** Resources of the routes with a uuid: creates one for the owner, and checks that it still exists. */
  const THINGS: Record<string, { make: () => Promise<string>; isThere: (uuid: string) => Promise<boolean> }> = {
    '/api/generations/:uuid/': {
      make: async () => (await owner.createImage()).uuid,
      isThere: async (uuid) => (await owner.readGeneration(uuid)).status === 200,
    },
    '/api/generations/:uuid/cancel/': {
      make: async () => (await owner.createImage()).uuid,
      isThere: async (uuid) => (await owner.readGeneration(uuid)).body.status === 'queued',
    },
    '/account/library/:uuid/cancel/': {
      make: async () => (await owner.createImage()).uuid,
      isThere: async (uuid) => (await owner.readGeneration(uuid)).body.status === 'queued',
    },
    '/account/library/:uuid/': {
      make: async () => (await owner.createImage()).uuid,
      isThere: async (uuid) => (await owner.readGeneration(uuid)).status === 200,
    },
    '/account/library/:uuid/delete/': {
      make: async () => (await owner.createImage()).uuid,
      isThere: async (uuid) => (await owner.readGeneration(uuid)).status === 200,
    },
    '/api/keys/:uuid/': {
      make: makeKey,
      isThere: async (uuid) =>
        (await service.sql('SELECT 1 FROM api_keys WHERE uuid = $1 AND version = 0', [uuid])).length === 1,
    },
    '/api/keys/:uuid/revoke/': { make: makeKey, isThere: isKeyActive },
    '/account/keys/:uuid/': {
      make: makeKey,
      isThere: async (uuid) =>
        (await service.sql('SELECT 1 FROM api_keys WHERE uuid = $1 AND version = 0', [uuid])).length === 1,
    },
    '/account/keys/:uuid/revoke/': { make: makeKey, isThere: isKeyActive },
    '/api/webhooks/:uuid/': { make: makeWebhook, isThere: isWebhookUnchanged },
    '/api/webhooks/:uuid/rotate-secret/': { make: makeWebhook, isThere: isWebhookUnchanged },
    '/api/webhooks/:uuid/deliveries/': { make: makeWebhook, isThere: isWebhookUnchanged },
    '/api/webhooks/:uuid/test/': { make: makeWebhook, isThere: hasNoDelivery('d.uuid <> w.uuid') },
    '/api/webhooks/:uuid/deliveries/:delivery/': { make: makeWebhook, isThere: hasNoDelivery(`d.status = 'pending'`) },
    '/account/webhooks/:uuid/deliveries/:delivery/': {
      make: makeWebhook,
      isThere: hasNoDelivery(`d.status = 'pending'`),
    },
    '/api/webhooks/:uuid/deliveries/:delivery/redeliver/': {
      make: makeWebhook,
      isThere: hasNoDelivery(`d.status = 'pending'`),
    },
    '/account/webhooks/:uuid/': { make: makeWebhook, isThere: isWebhookUnchanged },
    '/account/webhooks/:uuid/rotate/': { make: makeWebhook, isThere: isWebhookUnchanged },
    '/account/webhooks/:uuid/delete/': { make: makeWebhook, isThere: isWebhookUnchanged },
    '/account/applications/:uuid/limit/': {
      make: makeGrant,
      isThere: async (uuid) =>
        (
          await service.sql(
            'SELECT FROM spending_limits l JOIN oauth_grants g ON g.client_id = l.client_id WHERE g.uuid = $1',
            [uuid],
          )
        ).length === 0,
    },
    '/account/applications/:uuid/end/': {
      make: makeGrant,
      isThere: async (uuid) =>
        (await service.sql('SELECT 1 FROM oauth_grants WHERE uuid = $1 AND revoked_at IS NULL', [uuid])).length === 1,
    },
    '/account/identities/:uuid/remove/': {
      make: async () => {
        const [row] = await service.sql(
          `INSERT INTO identities (uuid, provider, issuer, subject, person_id, email, created_at)
           SELECT gen_random_uuid(), 'google', gen_random_uuid(), 'me', id, email, now() FROM people WHERE email = $1 RETURNING uuid`,
          [owner.email],
        );
        return row.uuid;
      },
      isThere: async (uuid) => (await service.sql('SELECT 1 FROM identities WHERE uuid = $1', [uuid])).length === 1,
    },
    '/api/members/:uuid/': { make: makeMember, isThere: isMemberUnchanged },
    '/api/members/:uuid/remove/': { make: makeMember, isThere: isMemberUnchanged },
    '/api/members/:uuid/revoke-access/': { make: makeMember, isThere: isMemberUnchanged },
    '/api/members/:uuid/hand-over/': {
      make: async () => {
        owner = await service.createCustomer('pro');
        return makeMember();
      },
      isThere: isMemberUnchanged,
    },
    '/account/members/:uuid/': { make: makeMember, isThere: isMemberUnchanged },
    '/account/members/:uuid/remove/': { make: makeMember, isThere: isMemberUnchanged },
    '/account/members/:uuid/revoke-access/': { make: makeMember, isThere: isMemberUnchanged },
    '/account/members/:uuid/hand-over/': {
      make: async () => {
        owner = await service.createCustomer('pro');
        return makeMember();
      },
      isThere: isMemberUnchanged,
    },
    '/api/invitations/:uuid/resend/': { make: makeInvitation, isThere: isInvitationUnchanged },
    '/api/invitations/:uuid/revoke/': { make: makeInvitation, isThere: isInvitationUnchanged },
    '/account/members/invitations/:uuid/resend/': { make: makeInvitation, isThere: isInvitationUnchanged },
    '/account/members/invitations/:uuid/revoke/': { make: makeInvitation, isThere: isInvitationUnchanged },
    '/authentication/accounts/:uuid/switch/': {
      make: async () => {
        const other = await service.createCustomer(null);
        owner = await addMember(other, 'viewer');
        const accounts = await readAccounts();
        await owner.requestWithSession('POST', `/authentication/accounts/${accounts[0].uuid}/switch/`);
        return accounts[1].uuid;
      },
      isThere: async (uuid) => (await readAccounts()).some((one: any) => one.uuid === uuid && !one.is_current),
    },
    '/account/billing/invoices/:uuid/': {
      make: async () =>
        (await findUuid(`SELECT t.uuid FROM invoices t ${FROM_OWNER} ORDER BY t.uuid LIMIT 1`)) as string,
      isThere: async (uuid) => (await service.sql('SELECT 1 FROM invoices WHERE uuid = $1', [uuid])).length === 1,
    },
    '/account/sessions/:uuid/end/': {
      make: async () => {
        await request(service.baseUrl, 'POST', '/authentication/dev/sign-in/', { body: { email: owner.email } });
        return (await findUuid(`SELECT t.uuid FROM sessions t ${FROM_OWNER} ORDER BY t.uuid DESC LIMIT 1`)) as string;
      },
      isThere: async (uuid) => (await service.sql('SELECT 1 FROM sessions WHERE uuid = $1', [uuid])).length === 1,
    },
  };

  // Staff may open resources of all accounts: contract/staffRoles. Uploads need a model that takes images:
  // contract/uploads.
  const rows = ROUTES.filter(
    ({ path, credential }) =>
      path.includes(':uuid') && !['operator', 'staff'].includes(credential) && !/^(\/api)?\/uploads\//.test(path),
  );

  it('all routes with a uuid are covered by these tests', () => {
    expect([...new Set(rows.map(({ path }) => path))]).to.have.members(Object.keys(THINGS));
    // The other path parameters, apart from those of a delivery and of a refund, do not name resources of an account.
    const names = ROUTES.flatMap(({ path }) => path.match(/:\w+/g) ?? []);
    expect(new Set(names)).to.have.all.keys(
      ':uuid',
      ':alert',
      ':delivery',
      ':file',
      ':id',
      ':key',
      ':kind',
      ':page',
      ':provider',
      ':code',
      ':shard',
      ':token',
    );
  });

  for (const row of rows) {
    it(`${row.name}: returns the same 404 as for an unknown resource, and does not change it`, async () => {
      const { make, isThere } = THINGS[row.path] as (typeof THINGS)[string];
      const former = owner;
      const uuid = await make();
      const [status, response] = await requestResource(row, stranger, uuid);
      expect(status).to.equal(404);
      expect(response).to.be.ok.and.to.deep.equal((await requestResource(row, stranger, randomUUID()))[1]);
      expect(await isThere(uuid)).to.equal(true);
      // The owner may use the route, so the 404s above are due to the account.
      expect((await requestResource(row, owner, uuid))[0]).to.be.oneOf([200, 204, 303]);
      expect(await isThere(uuid)).to.equal(!isChange(row));
      // Some of these make another owner.
      owner = former;
    });
  }

  it('MCP tools and resource requests return the same error as for an unknown resource', async () => {
    const uuid = (await owner.createImage()).uuid as string;
    const session = await openMcpSession(stranger);
    const getMcpError = async (message: object, replaced: string) => {
      const { body } = await postMcp(stranger, message, { headers: session });
      return JSON.stringify(body.error ?? body.result).replaceAll(replaced, '…');
    };
    const messages = [
      (id: string) => buildToolCall('get_generation', { uuid: id, wait_seconds: 0 }),
      ...['resources/read', 'resources/subscribe'].map((method) => (id: string) => ({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { uri: `generation://${id}` },
      })),
    ];
    for (const message of messages) {
      const missing = randomUUID();
      const error = await getMcpError(message(uuid), uuid);
      expect(error).to.include('has no generation with that UUID');
      expect(error).to.equal(await getMcpError(message(missing), missing));
    }
  });

  it('an MCP session of another account is not found by POST, GET and DELETE, with a key and with a token', async () => {
    const theirs = await openMcpSession(stranger);
    const accept = 'application/json, text/event-stream';
    for (const credential of [owner.key, token]) {
      const headers = { ...theirs, accept, authorization: `Bearer ${credential}` };
      for (const method of ['POST', 'GET', 'DELETE']) {
        const options = { headers: method === 'GET' ? { ...headers, accept: 'text/event-stream' } : headers };
        const body = { jsonrpc: '2.0', id: 1, method: 'ping' };
        const sent = method === 'POST' ? { ...options, body } : options;
        expect((await request(service.baseUrl, method, '/mcp', sent)).status, method).to.equal(404);
      }
    }
    expect(
      (await postMcp(stranger, { ...INITIALIZE, method: 'ping', params: {} }, { headers: theirs })).status,
    ).to.equal(200);
  });
});

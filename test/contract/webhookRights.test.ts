import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { recordEvent } from '../../shared/domain/outbox/recordEvent.ts';
import { WEBHOOK_EVENT_TYPES } from '../../shared/spec/events.ts';
import { Account } from '../../shared/tables/Account.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { addMember, withKey } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { dispatchEvents } from '../harness/tasks.ts';
import { ENDPOINT_URL, requestEndpoint, useWebhookService } from '../harness/webhookFixture.ts';

const HIDDEN = ['topup.succeeded', 'topup.failed', 'affiliate.commission', 'affiliate.payout'] as const;
const READABLE = WEBHOOK_EVENT_TYPES.filter((type) => !(HIDDEN as readonly string[]).includes(type));

const change = (by: TestCustomer, uuid: string, body: object) =>
  by.request('PATCH', `/api/webhooks/${uuid}/`, { body });

describe('events that the role of a member may not read', () => {
  const service = useWebhookService();
  let owner: TestCustomer;
  let developer: TestCustomer;
  beforeEach(async () => {
    owner = await service.createCustomer(null);
    developer = await withKey(await addMember(owner, 'developer'));
  });

  /** Has an endpoint of the owner for all types receive a payout. @returns the paths of both. */
  async function deliverPayout(): Promise<{ endpoint: string; delivery: string }> {
    const { uuid } = (await requestEndpoint(owner)).body;
    const accountId = await getAccountId(service, owner);
    const details = { month: '2026-11-01', amount_cents: 12_345, paid_at: '2026-11-30T00:00:00.000Z' };
    await Account.transaction((transaction) =>
      recordEvent(transaction, { accountId, type: 'affiliate.payout', subject: randomUUID(), details }),
    );
    await dispatchEvents();
    const { body } = await owner.request('GET', `/api/webhooks/${uuid}/deliveries/?type=affiliate.payout`);
    return { endpoint: uuid, delivery: body.data[0].uuid };
  }

  it('are not received by its endpoints, and an endpoint for all types receives the others', async () => {
    for (const type of HIDDEN) {
      expectError(await requestEndpoint(developer, { events: ['credits.low', type] }), 'insufficient_scope', type);
      expect((await requestEndpoint(owner, { events: [type] })).status).to.equal(201);
    }
    const { uuid, events } = (await requestEndpoint(developer)).body;
    expect(events).to.deep.equal(READABLE);
    expect((await requestEndpoint(developer, { events: null })).body.events).to.deep.equal(READABLE);
    expectError(await change(developer, uuid, { events: ['topup.failed'] }), 'insufficient_scope', 'topup.failed');
    expect((await change(developer, uuid, { events: ['key.created'] })).body.events).to.deep.equal(['key.created']);
    expect((await change(developer, uuid, { events: null })).body.events).to.deep.equal(READABLE);
    expect((await requestEndpoint(owner)).body.events).to.equal(null);
  });

  it('are not sent to another address by the change of an endpoint, which every member who manages them can delete', async () => {
    const { uuid } = (await requestEndpoint(owner, { events: ['affiliate.payout', 'key.created'] })).body;
    await change(owner, uuid, { enabled: false });
    for (const body of [{ url: `${ENDPOINT_URL}/other` }, { events: ['key.created'] }, { enabled: true }])
      expectError(await change(developer, uuid, body), 'insufficient_scope', 'affiliate.payout');
    // Its secret could sign events that the developer made up.
    const rotation = `/api/webhooks/${uuid}/rotate-secret/`;
    expectError(await developer.request('POST', rotation), 'insufficient_scope', 'affiliate.payout');
    expect((await developer.request('DELETE', `/api/webhooks/${uuid}/`)).status).to.equal(204);
  });

  it('cannot be signed by another member who repeats the request that returned the secret of their endpoint', async () => {
    const body = { url: ENDPOINT_URL, events: ['key.created'] };
    for (const [path, sent] of [
      ['create', body],
      [`${(await requestEndpoint(owner, body)).body.uuid}/rotate-secret`, {}],
    ] as const) {
      const headers = { 'idempotency-key': randomUUID() };
      const request = (by: TestCustomer) => by.request('POST', `/api/webhooks/${path}/`, { body: sent, headers });
      const { secret } = (await request(owner)).body;
      expect((await request(owner)).body.secret).to.equal(secret);
      expectError(await request(developer), 'validation_error');
    }
  });

  it('are not shown by their deliveries, or sent again', async () => {
    const { endpoint, delivery } = await deliverPayout();
    const path = `/api/webhooks/${endpoint}/deliveries/${delivery}/`;
    expectError(await developer.request('GET', path), 'insufficient_scope', 'are for the roles owner, admin');
    expect((await owner.request('GET', path)).body.body).to.include('12345');
    const page = `${service.baseUrl}/account/webhooks/${endpoint}/deliveries/${delivery}/`;
    const { status, text } = await createBrowserFor(developer).request(page);
    expect([status, text.includes('are for the roles owner'), text.includes('12345')]).to.deep.equal([
      403,
      true,
      false,
    ]);
    await service.sql(`UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE uuid = $1`, [
      delivery,
    ]);
    expectError(await developer.request('POST', `${path}redeliver/`), 'insufficient_scope', 'affiliate.payout');
    expect((await owner.request('GET', path)).body.status).to.equal('failed');
    expect((await owner.request('POST', `${path}redeliver/`)).body.status).to.equal('pending');
  });

  it('are not sent to another address while they are pending, even if their endpoint receives them no more', async () => {
    const { endpoint, delivery } = await deliverPayout();
    await change(owner, endpoint, { events: ['key.created'] });
    const moved = { url: `${ENDPOINT_URL}/other` };
    expectError(await change(developer, endpoint, moved), 'insufficient_scope', 'affiliate.payout');
    expect((await change(developer, endpoint, { description: 'ours' })).status).to.equal(200);
    await service.sql(`UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE uuid = $1`, [
      delivery,
    ]);
    expect((await change(developer, endpoint, moved)).status).to.equal(200);
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { WEBHOOK_EVENT_TYPES } from '../../shared/spec/events.ts';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const PAGE = '/account/webhooks/';
const SECRET = /whsec_[A-Za-z0-9+/]{43}=/;
const PUBLIC_KEY = /whpk_[A-Za-z0-9+/]{43}=/;
const URL_OF_RECEIVER = 'https://hooks.example.com/genmeter?a=1&b=2';
const ALL = { url: URL_OF_RECEIVER, description: '', all_events: 'on' };

describe('webhook pages', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  after(() => service.stop());

  const at = (path: string) => `${service.baseUrl}${path}`;
  const send = (visitor: HttpBrowser, action: string, fields?: Record<string, string>) =>
    sendAccountForm(service.baseUrl, visitor, action, fields);
  const show = async (visitor: HttpBrowser, path: string) => (await visitor.request(at(path))).text;
  const listEndpoints = async (customer: TestCustomer) => (await customer.request('GET', '/api/webhooks/')).body.data;
  const getTitle = (text: string) => /<title>(.*?) · genmeter<\/title>/.exec(text)?.[1];

  /** Adds an endpoint through the form. */
  async function addEndpoint(fields: Record<string, string> = ALL) {
    const { customer, visitor } = await createVisitor(service);
    const { status, text } = await send(visitor, PAGE, fields);
    expect(status, text).to.equal(200);
    const [endpoint] = await listEndpoints(customer);
    const path = `${PAGE}${endpoint.uuid as string}/`;
    return { customer, visitor, text, secret: SECRET.exec(text)?.[0] ?? '', endpoint, path };
  }

  /** Sends a test event through the form. @returns the uuid of its delivery. */
  async function sendTest(visitor: HttpBrowser, path: string): Promise<string> {
    expect((await send(visitor, path, { action: 'test' })).headers.get('location')).to.equal(`${path}?done=tested`);
    const [{ uuid }] = await service.sql(
      `SELECT d.uuid FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
        WHERE w.uuid::text = $1 ORDER BY d.id DESC LIMIT 1`,
      [path.split('/').at(-2)],
    );
    return uuid;
  }

  const fail = (delivery: string, status: number | null, error: string | null) =>
    service.sql(
      `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, attempts = 10, last_attempt_at = now(),
              last_status = $2, last_error = $3 WHERE uuid = $1`,
      [delivery, status, error],
    );

  describe('the list of endpoints', () => {
    it('says what an endpoint is for while there is none, and is in the navigation', async () => {
      const { visitor } = await createVisitor(service);
      const text = await show(visitor, PAGE);
      expect(getTitle(text)).to.equal('Webhooks');
      expect(text).to.include('No endpoints yet.').and.to.include('<a href="/account/webhooks/" aria-current="page">');
      expect((await visitor.request(at('/account/'))).text).to.include('href="/account/webhooks/"');
      for (const type of WEBHOOK_EVENT_TYPES) expect(text).to.include(`name="events" value="${type}"`);
    });

    it('adds an endpoint and shows its secret once', async () => {
      const { visitor, text, secret, endpoint, path } = await addEndpoint({ ...ALL, description: ' Production ' });
      expect(getTitle(text)).to.equal('Webhook endpoint added');
      expect(text).to.match(/role="status" tabindex="-1" autofocus[^>]*><strong>Endpoint added\.</);
      expect(secret).to.match(SECRET);
      expect(endpoint).to.include({ url: URL_OF_RECEIVER, description: 'Production', events: null, enabled: true });
      for (const page of [PAGE, path]) {
        const shown = await show(visitor, page);
        expect(shown).to.not.match(SECRET).and.to.include('Production');
        expect(shown).to.include('https://hooks.example.com/genmeter?a=1&amp;b=2');
      }
      expect(PUBLIC_KEY.exec(await show(visitor, path))?.[0]).to.equal(endpoint.public_key);
    });

    it('adds one endpoint when its form is sent several times, and shows the same secret', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { fields } = findForm(await show(visitor, PAGE), PAGE);
      const answers = await Promise.all([1, 2, 3].map(() => visitor.submitForm(at(PAGE), { ...fields, ...ALL })));
      const secrets = answers.map(({ text }) => SECRET.exec(text)?.[0]);
      expect(secrets[0]).to.be.ok;
      expect(new Set(secrets).size).to.equal(1);
      expect(await listEndpoints(customer)).to.have.length(1);
    });

    it('rejects an unusable URL and a missing or contradictory choice of types, and keeps what was entered', async () => {
      const { customer, visitor } = await createVisitor(service);
      for (const [fields, problem] of [
        [{ url: 'http://10.0.0.1/', all_events: 'on' }, 'URL must have a public host'],
        [{ url: 'ftp://example.com/', all_events: 'on' }, 'URL must be an address such as https://'],
        [{ url: '', all_events: 'on' }, 'URL must'],
        [{ url: URL_OF_RECEIVER }, 'Choose all events, or at least one event type.'],
        [{ url: URL_OF_RECEIVER, all_events: 'on', events: 'credits.low' }, 'You chose all events and single types.'],
        [{ url: URL_OF_RECEIVER, events: 'credits.high' }, 'Events'],
        [{ url: URL_OF_RECEIVER, all_events: 'on', description: 'x'.repeat(201) }, 'Description must'],
      ] as [Record<string, string>, string][]) {
        const { status, text } = await send(visitor, PAGE, { description: 'mine', ...fields });
        expect(status, problem).to.equal(400);
        expect(getTitle(text)).to.equal('Error: Webhooks');
        expect(/role="alert"[^>]*>(.*?)<\//s.exec(text)?.[1]).to.include(problem);
        expect(text).to.include(`value="${fields['description'] ?? 'mine'}"`);
        expect(/name="all_events"[^>]*>/.exec(text)?.[0].includes('checked')).to.equal('all_events' in fields);
      }
      expect(await listEndpoints(customer)).to.have.length(0);
    });

    it('shows the state of each endpoint in words, with what to do', async () => {
      const { visitor, endpoint, path } = await addEndpoint();
      const set = (columns: string) =>
        service.sql(`UPDATE webhook_endpoints SET ${columns} WHERE uuid = $1`, [endpoint.uuid]);
      for (const [columns, tag, sentence] of [
        [`failing_since = now()`, 'Failing', 'have failed. Deliveries are retried one at a time.'],
        [`disabled_at = now(), disabled_reason = 'owner'`, 'Disabled', 'You disabled this endpoint.'],
        [`disabled_at = now(), disabled_reason = 'gone'`, 'Disabled', 'Your server responded with 410'],
        [`disabled_at = now(), disabled_reason = 'failing'`, 'Disabled', 'All deliveries of five days failed.'],
      ] as const) {
        await set(columns);
        for (const page of [PAGE, path]) {
          const text = await show(visitor, page);
          expect(text, columns).to.include(`>${tag}</span>`).and.to.include(sentence);
        }
      }
      await set('disabled_at = NULL, disabled_reason = NULL, failing_since = NULL');
      expect(await show(visitor, PAGE)).to.include('>Enabled</span>');
    });

    it('offers no form to add an eleventh endpoint', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { fields } = findForm(await show(visitor, PAGE), PAGE);
      for (let index = 0; index < 10; index += 1)
        await customer.request('POST', '/api/webhooks/create/', { body: { url: URL_OF_RECEIVER } });
      expect(await show(visitor, PAGE))
        .to.include('10 endpoints, the maximum')
        .and.to.not.include('Add endpoint<');
      const { status, text } = await visitor.submitForm(at(PAGE), { ...fields, ...ALL });
      expect(status).to.equal(400);
      expect(text).to.include('The account already has 10 webhook endpoints, the maximum. Delete one first.');
    });
  });

  describe('the page of an endpoint', () => {
    it('changes URL, description and types', async () => {
      const { customer, visitor, path } = await addEndpoint();
      const fields = { action: 'save', url: 'https://example.org/', description: 'Test', events: 'generation.failed' };
      const answer = await send(visitor, path, fields);
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `${path}?done=saved`]);
      const saved = await show(visitor, `${path}?done=saved`);
      expect(getTitle(saved)).to.equal('Webhook saved');
      expect(saved).to.match(/name="events" value="generation.failed" checked/);
      const [endpoint] = await listEndpoints(customer);
      expect(endpoint).to.deep.include({
        url: 'https://example.org/',
        description: 'Test',
        events: ['generation.failed'],
      });
      const rejected = await send(visitor, path, { ...fields, url: 'https://127.0.0.1/' });
      expect([rejected.status, getTitle(rejected.text)]).to.deep.equal([400, 'Error: Test']);
      expect(rejected.text).to.include('value="https://127.0.0.1/"');
      expect((await listEndpoints(customer))[0].url).to.equal('https://example.org/');
    });

    it('disables and enables the endpoint', async () => {
      const { customer, visitor, path } = await addEndpoint();
      const delivery = await sendTest(visitor, path);
      const disabled = await send(visitor, path, { action: 'disable' });
      expect(getTitle(await show(visitor, disabled.headers.get('location') ?? ''))).to.equal('Webhook disabled');
      expect((await listEndpoints(customer))[0]).to.include({ enabled: false, disabled_reason: 'owner' });
      const text = await show(visitor, path);
      expect(text).to.include('>Enable</button>').and.to.not.include('Send test event');
      expect(text).to.include('>Failed</span>').and.to.not.include('>Redeliver</button>');
      for (const fields of [{ action: 'test' }, { action: 'redeliver', delivery }]) {
        const rejected = await send(visitor, path, fields);
        expect(rejected.status).to.equal(400);
        expect(rejected.text).to.include('The webhook endpoint is disabled. Enable it first.');
      }
      const enabled = await send(visitor, path, { action: 'enable' });
      expect(enabled.headers.get('location')).to.equal(`${path}?done=enabled`);
      expect((await listEndpoints(customer))[0]).to.include({ enabled: true, disabled_reason: null });
    });

    it('rotates the secret after a confirmation, once for a form that is sent twice', async () => {
      const { visitor, secret, endpoint, path } = await addEndpoint();
      const confirmation = await show(visitor, `${path}rotate/`);
      expect(confirmation)
        .to.include('The old ones also sign for 24 hours')
        .and.to.not.include('stops signing at once');
      const { fields } = findForm(confirmation, `${path}rotate/`);
      const answers = await Promise.all([1, 2].map(() => visitor.submitForm(at(`${path}rotate/`), fields)));
      const rotated = answers.map(({ text }) => SECRET.exec(text)?.[0]);
      expect(rotated[0]).to.match(SECRET).and.to.not.equal(secret);
      expect(rotated[1]).to.equal(rotated[0]);
      expect(getTitle(answers[0]?.text ?? '')).to.equal('Secret rotated');
      const page = await show(visitor, path);
      expect(page).to.include('The previous secret and public key sign as well until').and.to.not.match(SECRET);
      expect(PUBLIC_KEY.exec(page)?.[0]).to.match(PUBLIC_KEY).and.to.not.equal(endpoint.public_key);
      expect(await show(visitor, `${path}rotate/`)).to.include('stops signing at once');
      const events = await show(visitor, '/account/security/');
      expect(events.split('Secret of the webhook endpoint at hooks.example.com rotated').length).to.equal(2);
    });

    it('deletes the endpoint after a confirmation', async () => {
      const { customer, visitor, path } = await addEndpoint();
      expect(await show(visitor, `${path}delete/`)).to.include('Delete the endpoint “hooks.example.com”?');
      const { headers } = await send(visitor, `${path}delete/`);
      expect(headers.get('location')).to.equal(`${PAGE}?done=deleted`);
      expect(getTitle(await show(visitor, `${PAGE}?done=deleted`))).to.equal('Webhook deleted');
      expect(await listEndpoints(customer)).to.have.length(0);
      const gone = await visitor.request(at(path));
      expect([gone.status, getTitle(gone.text)]).to.deep.equal([404, 'Error: Webhooks']);
    });

    it('returns to itself after the session has ended', async () => {
      const { customer, visitor, path } = await addEndpoint();
      const { fields } = findForm(await show(visitor, path), path);
      await customer.requestWithSession('POST', '/authentication/logout/');
      const answer = await visitor.request(at(path), {
        method: 'POST',
        headers: {
          origin: service.baseUrl,
          referer: at(path),
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ ...fields, action: 'disable' }).toString(),
      });
      expect(answer.headers.get('location')).to.equal(
        `/sign-in?problem=session-ended&return_to=${encodeURIComponent(path)}`,
      );
      expect((await listEndpoints(customer))[0].enabled).to.equal(true);
    });

    it('rejects a form without a known action', async () => {
      const { visitor, path } = await addEndpoint();
      for (const action of ['', 'constructor']) {
        const { status, text } = await send(visitor, path, { action });
        expect([status, text.includes('The form names no action.')]).to.deep.equal([400, true]);
      }
    });
  });

  describe('the deliveries of an endpoint', () => {
    it('are listed with their result in words, and can be repeated', async () => {
      const { visitor, path } = await addEndpoint();
      const delivery = await sendTest(visitor, path);
      expect(getTitle(await show(visitor, `${path}?done=tested`))).to.equal('Test event sent');
      const pending = await show(visitor, path);
      expect(pending).to.include('webhook.test').and.to.include('Not attempted yet').and.to.include('>Pending</span>');
      expect(pending).to.not.include('>Redeliver</button>');
      const early = await send(visitor, path, { action: 'redeliver', delivery });
      expect([early.status, early.text.includes('The delivery is still pending')]).to.deep.equal([400, true]);
      await fail(delivery, 503, null);
      const failed = await show(visitor, `${path}?status=failed`);
      expect(failed).to.include('HTTP 503').and.to.include('>Failed</span>').and.to.include('>Redeliver</button>');
      const repeated = await send(visitor, path, { action: 'redeliver', delivery, status: 'failed' });
      expect(repeated.headers.get('location')).to.equal(`${path}?status=failed&done=redelivered`);
      const page = await show(visitor, `${path}?status=failed&done=redelivered`);
      expect(getTitle(page)).to.equal('Delivery repeated');
      expect(page).to.include('No failed deliveries.');
      expect(await show(visitor, `${path}?status=pending`)).to.include(delivery);
    });

    it('are filtered by status, in pages that keep the filter and are small', async () => {
      const { visitor, path } = await addEndpoint();
      await sendTest(visitor, path);
      await service.sql(
        `INSERT INTO outbox_events (account_id, type, subject, created_at)
           SELECT account_id, 'generation.failed', n::text, now() FROM outbox_events, generate_series(1, 30) n
            WHERE account_id = (SELECT account_id FROM webhook_endpoints WHERE uuid::text = $1)`,
        [path.split('/').at(-2)],
      );
      await service.sql(
        `INSERT INTO webhook_deliveries (endpoint_id, event_id, status, attempts, last_attempt_at, last_error, created_at)
           SELECT w.id, e.id, 'failed', 10, now(), repeat('x', 500), now()
             FROM webhook_endpoints w JOIN outbox_events e ON e.account_id = w.account_id AND e.type = 'generation.failed'
            WHERE w.uuid::text = $1`,
        [path.split('/').at(-2)],
      );
      const first = await show(visitor, `${path}?status=failed`);
      expect(first.split('>Redeliver</button>').length).to.equal(21);
      expect(first).to.include('Page 1 of 2').and.to.include(`href="${path}?status=failed&amp;page=2"`);
      expect(Buffer.byteLength(first)).to.be.below(100_000);
      const second = await show(visitor, `${path}?status=failed&page=2`);
      expect(second.split('>Redeliver</button>').length).to.equal(11);
      expect(await show(visitor, `${path}?status=`)).to.include('Page 1 of 2');
      for (const query of ['status=lost', 'page=0', 'page=two']) {
        const { status, text } = await visitor.request(at(`${path}?${query}`));
        expect([status, text.includes('role="alert"')], query).to.deep.equal([400, true]);
      }
    });

    it('of another account cannot be repeated, and an unknown one is not found', async () => {
      const [mine, theirs] = await Promise.all([addEndpoint(), addEndpoint()]);
      const delivery = await sendTest(theirs.visitor, theirs.path);
      await fail(delivery, 500, null);
      for (const uuid of [delivery, randomUUID(), 'none', '']) {
        const { status } = await send(mine.visitor, mine.path, { action: 'redeliver', delivery: uuid });
        expect(status, uuid).to.equal(404);
      }
      const [row] = await service.sql('SELECT status FROM webhook_deliveries WHERE uuid = $1', [delivery]);
      expect(row.status).to.equal('failed');
    });
  });

  describe('the page of the default endpoint', () => {
    const path = `${PAGE}default/`;
    const readDefault = async (customer: TestCustomer) =>
      (await customer.requestWithSession('GET', '/api/webhooks/default/secret/')).body;

    it('shows the public key always and the secret on request', async () => {
      const { customer, visitor } = await createVisitor(service);
      const text = await show(visitor, path);
      const { secret, public_key: publicKey } = await readDefault(customer);
      expect(text).to.not.match(SECRET).and.to.include(publicKey);
      const shown = await send(visitor, path, { action: 'show' });
      expect([shown.status, getTitle(shown.text)]).to.deep.equal([200, 'Default secret']);
      expect(SECRET.exec(shown.text)?.[0]).to.equal(secret);
      expect(await show(visitor, PAGE)).to.include('No endpoints yet.');
    });

    it('rotates the secret after a confirmation, once for a form that is sent twice', async () => {
      const { customer, visitor } = await createVisitor(service);
      const before = await readDefault(customer);
      const { fields } = findForm(await show(visitor, `${path}rotate/`), `${path}rotate/`);
      const answers = await Promise.all([1, 2].map(() => visitor.submitForm(at(`${path}rotate/`), fields)));
      const rotated = await readDefault(customer);
      expect(rotated.secret).to.not.equal(before.secret);
      for (const { text } of answers) expect(SECRET.exec(text)?.[0]).to.equal(rotated.secret);
      const [row] = await service.sql('SELECT previous_secret FROM webhook_endpoints WHERE uuid = $1', [before.uuid]);
      expect(row.previous_secret).to.equal(before.secret);
    });

    it('lists its deliveries with their addresses and repeats them', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { uuid } = await readDefault(customer);
      const [{ uuid: delivery }] = await service.sql(
        `WITH event AS (
           INSERT INTO outbox_events (account_id, type, subject, created_at)
           SELECT account_id, 'generation.succeeded', 'one', now() FROM webhook_endpoints WHERE uuid = $1 RETURNING *)
         INSERT INTO webhook_deliveries (endpoint_id, event_id, url, status, last_status, last_attempt_at, created_at)
         SELECT w.id, event.id, 'https://single.example.com/', 'failed', 500, now(), now()
           FROM event JOIN webhook_endpoints w ON w.uuid = $1 RETURNING uuid`,
        [uuid],
      );
      expect(await show(visitor, path))
        .to.include('https://single.example.com/')
        .and.to.include('HTTP 500');
      const repeated = await send(visitor, path, { action: 'redeliver', delivery });
      expect(repeated.headers.get('location')).to.equal(`${path}?done=redelivered`);
      expect(await show(visitor, path)).to.include('>Pending</span>');
    });
  });
});

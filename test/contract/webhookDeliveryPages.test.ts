import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, type HttpBrowser } from '../harness/httpBrowser.ts';
import { useTestService } from '../harness/testService.ts';
import { getTitle, SECRET, WebhookPages, WEBHOOKS_PAGE } from '../harness/webhookPages.ts';

const readDefault = async (customer: TestCustomer) =>
  (await customer.requestWithSession('GET', '/api/webhooks/default/secret/')).body;

describe('pages with webhook deliveries', () => {
  const service = useTestService({ workers: 0 });
  const pages = new WebhookPages(() => service);

  const fail = (delivery: string, status: number | null, error: string | null) =>
    service.sql(
      `UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, attempts = 10, last_attempt_at = now(),
              last_status = $2, last_error = $3 WHERE uuid = $1`,
      [delivery, status, error],
    );

  const showDelivery = (visitor: HttpBrowser, path: string, delivery: string) =>
    pages.show(visitor, `${path}deliveries/${delivery}/`);

  describe('the deliveries of an endpoint', () => {
    it('are listed with their result in words, and can be sent again', async () => {
      const { visitor, path } = await pages.addEndpoint();
      const delivery = await pages.sendTest(visitor, path);
      expect(getTitle(await pages.show(visitor, `${path}?done=tested`))).to.equal('A test event is on its way');
      const deliveryPath = `${path}deliveries/${delivery}/`;
      expect(await pages.show(visitor, path))
        .to.include(`<a href="${deliveryPath}">webhook.test</a>`)
        .and.to.include('>Pending</span>');
      expect(await pages.show(visitor, deliveryPath))
        .to.include('No attempts yet.')
        .and.to.not.include('>Send again</button>');
      const early = await pages.sendAgain(visitor, path, delivery);
      expect([early.status, early.text.includes('The delivery is still pending')]).to.deep.equal([400, true]);
      for (const [error, status, words] of [
        ['status 500', 500, 'HTTP 500'],
        ['redirect', 301, 'HTTP 301: redirects are not followed'],
        ['timeout', null, 'No response within 15 seconds'],
        ['private address', null, 'The address is not public'],
        ['endpoint_disabled', null, 'The endpoint was disabled'],
        ['anything else', null, 'anything else'],
      ] as const) {
        await fail(delivery, status, error);
        expect(await pages.show(visitor, `${path}?status=failed`), error)
          .to.include(`>${words}</td>`)
          .and.to.include('>Failed</span>');
      }
      const repeated = await pages.sendAgain(visitor, path, delivery);
      expect(repeated.headers.get('location')).to.equal(`${deliveryPath}?done=sent`);
      const page = await pages.show(visitor, `${deliveryPath}?done=sent`);
      expect(getTitle(page)).to.equal('The event is sent again');
      expect(await pages.show(visitor, `${path}?status=failed`)).to.include('Nothing matches these filters.');
      expect(await pages.show(visitor, `${path}?status=pending`)).to.include('>Pending</span>');
    });

    it('are filtered by status and event, in pages that keep the filter and are small', async () => {
      const { visitor, path } = await pages.addEndpoint();
      await pages.sendTest(visitor, path);
      await service.sql(
        `INSERT INTO outbox_events (account_id, type, subject, body, created_at, dispatched_at)
           SELECT account_id, 'generation.failed', n::text, '{}', now(), now() FROM outbox_events, generate_series(1, 30) n
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
      const countRows = (text: string) => text.split(`<a href="${path}deliveries/`).length - 1;
      for (const filter of ['status=failed', 'type=generation.failed', 'status=failed&type=generation.failed']) {
        const first = await pages.show(visitor, `${path}?${filter}`);
        expect(countRows(first), filter).to.equal(20);
        expect(first)
          .to.include('Page 1 of 2')
          .and.to.include(`href="${path}?${filter.replace('&', '&amp;')}&amp;page=2"`);
        expect(Buffer.byteLength(first)).to.be.below(100_000);
        expect(countRows(await pages.show(visitor, `${path}?${filter}&page=2`))).to.equal(10);
      }
      expect(countRows(await pages.show(visitor, `${path}?type=webhook.test`))).to.equal(1);
      expect(await pages.show(visitor, `${path}?type=webhook.test&status=failed`)).to.include(
        'Nothing matches these filters.',
      );
      expect(await pages.show(visitor, `${path}?status=&type=`)).to.include('Page 1 of 2');
      for (const query of ['status=lost', 'type=lost', 'page=0', 'page=two']) {
        const { status, text } = await visitor.request(pages.at(`${path}?${query}`));
        expect([status, text.includes('role="alert"')], query).to.deep.equal([400, true]);
      }
    });

    it('show each attempt with its time, duration, headers and response, newest first', async () => {
      const { visitor, path } = await pages.addEndpoint();
      const delivery = await pages.sendTest(visitor, path);
      const attempt = { duration_ms: 1_203, status: 503, error: 'status 503', signature: 'v1,c2lnbmF0dXJl' };
      const response = { response_body: '<b>down</b>', response_is_binary: false };
      await service.sql(
        `UPDATE webhook_deliveries SET attempts = 3, last_status = 200, attempt_log = $2 WHERE uuid = $1`,
        [
          delivery,
          JSON.stringify([
            { sent_at: '2026-11-22T09:30:05.120Z', ...attempt, ...response },
            { ...attempt, sent_at: '2026-11-22T09:31:05.120Z', status: null, error: 'timeout', response_body: null },
            { ...attempt, sent_at: '2026-11-22T09:36:05.120Z', response_body: null, response_is_binary: true },
          ]),
        ],
      );
      const text = await showDelivery(visitor, path, delivery);
      expect(text)
        .to.include('>Retrying</span>')
        .and.to.include('<time datetime="2026-11-22T09:30:05.120Z">22 Nov 2026, 09:30:05</time>: HTTP 503, 1,203 ms')
        .and.to.include('No response within 15 seconds, 1,203 ms')
        .and.to.include('webhook-timestamp: 1795339805')
        .and.to.include('webhook-signature: v1,c2lnbmF0dXJl')
        .and.to.include('&lt;b>down&lt;/b>')
        .and.to.include('it is not text')
        .and.to.include('{&quot;type&quot;:&quot;webhook.test&quot;');
      expect(text.indexOf('09:36:05')).to.be.below(text.indexOf('09:30:05'));
    });

    it('of another account cannot be seen or sent again', async () => {
      const [mine, theirs] = await Promise.all([pages.addEndpoint(), pages.addEndpoint()]);
      const delivery = await pages.sendTest(theirs.visitor, theirs.path);
      await fail(delivery, 500, null);
      for (const uuid of [delivery, 'none']) {
        expect((await pages.sendAgain(mine.visitor, mine.path, uuid)).status, uuid).to.equal(404);
        const { status } = await mine.visitor.request(pages.at(`${mine.path}deliveries/${uuid}/`));
        expect(status, uuid).to.equal(404);
      }
      const [row] = await service.sql('SELECT status FROM webhook_deliveries WHERE uuid = $1', [delivery]);
      expect(row.status).to.equal('failed');
    });
  });

  describe('the page of the default endpoint', () => {
    const path = `${WEBHOOKS_PAGE}default/`;

    it('shows the public key always and the secret on request', async () => {
      const { customer, visitor } = await createVisitor(service);
      const text = await pages.show(visitor, path);
      const { secret, public_key: publicKey } = await readDefault(customer);
      expect(text).to.include(publicKey).and.to.not.match(SECRET);
      const shown = await pages.send(visitor, path, { action: 'show' });
      expect([shown.status, getTitle(shown.text)]).to.deep.equal([200, 'Default secret']);
      expect(SECRET.exec(shown.text)?.[0]).to.equal(secret);
      expect(await pages.show(visitor, WEBHOOKS_PAGE)).to.include('No endpoints yet.');
    });

    it('leads to a rotation when the secret can no longer be read', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { uuid } = await readDefault(customer);
      await service.sql(`UPDATE webhook_endpoints SET secret = 'sealed:v1:AAAA' WHERE uuid = $1`, [uuid]);
      const { status, text } = await visitor.request(pages.at(path));
      expect([status, getTitle(text)]).to.deep.equal([400, 'Error: Webhooks']);
      expect(text)
        .to.include('The default secret can no longer be read. Rotate it')
        .and.to.include(`href="${path}rotate/"`);
      expect((await pages.send(visitor, `${path}rotate/`)).status).to.equal(200);
      expect((await pages.send(visitor, path, { action: 'show' })).text).to.match(SECRET);
    });

    it('rotates the secret after a confirmation, once for a form that is sent twice', async () => {
      const { customer, visitor } = await createVisitor(service);
      const before = await readDefault(customer);
      const { fields } = findForm(await pages.show(visitor, `${path}rotate/`), `${path}rotate/`);
      const answers = await Promise.all([1, 2].map(() => visitor.submitForm(pages.at(`${path}rotate/`), fields)));
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
           INSERT INTO outbox_events (account_id, type, subject, body, created_at, dispatched_at)
           SELECT account_id, 'generation.succeeded', 'one', '{}', now(), now() FROM webhook_endpoints WHERE uuid = $1 RETURNING *)
         INSERT INTO webhook_deliveries (endpoint_id, event_id, url, status, last_status, last_attempt_at, created_at)
         SELECT w.id, event.id, 'https://single.example.com/', 'failed', 500, now(), now()
           FROM event JOIN webhook_endpoints w ON w.uuid = $1 RETURNING uuid`,
        [uuid],
      );
      expect(await pages.show(visitor, path))
        .to.include('https://single.example.com/')
        .and.to.include('HTTP 500');
      const deliveryPath = `${WEBHOOKS_PAGE}${uuid}/deliveries/${delivery}/`;
      expect(await pages.show(visitor, deliveryPath)).to.include(`href="${path}">Back to the deliveries`);
      const repeated = await pages.sendAgain(visitor, `${WEBHOOKS_PAGE}${uuid}/`, delivery);
      expect(repeated.headers.get('location')).to.equal(`${deliveryPath}?done=sent`);
      expect(await pages.show(visitor, path)).to.include('>Pending</span>');
      expect(await pages.show(visitor, WEBHOOKS_PAGE)).to.include('<details class="card" open>');
    });
  });
});

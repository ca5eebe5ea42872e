import { expect } from 'chai';
import { WEBHOOK_EVENT_TYPES } from '../../shared/spec/events.ts';
import { createVisitor } from '../harness/accountForms.ts';
import { findForm } from '../harness/httpBrowser.ts';
import { useTestService } from '../harness/testService.ts';
import {
  ALL_EVENTS,
  getTitle,
  listEndpoints,
  RECEIVER_URL,
  SECRET,
  WebhookPages,
  WEBHOOKS_PAGE,
} from '../harness/webhookPages.ts';

const PUBLIC_KEY = /whpk_[A-Za-z0-9+/]{43}=/;

describe('webhook pages', () => {
  const service = useTestService({ workers: 0 });
  const pages = new WebhookPages(() => service);

  describe('the list of endpoints', () => {
    it('says what an endpoint is for while there is none, and is in the navigation', async () => {
      const { visitor } = await createVisitor(service);
      const text = await pages.show(visitor, WEBHOOKS_PAGE);
      expect(getTitle(text)).to.equal('Webhooks');
      expect(text).to.include('<details class="card"><summary>Events of single generations</summary>');
      expect(text).to.include('No endpoints yet.').and.to.include('<a href="/account/webhooks/" aria-current="page">');
      expect((await visitor.request(pages.at('/account/'))).text).to.include('href="/account/webhooks/"');
      for (const type of WEBHOOK_EVENT_TYPES) expect(text).to.include(`name="events" value="${type}"`);
    });

    it('adds an endpoint and shows its secret once', async () => {
      const { visitor, text, secret, endpoint, path } = await pages.addEndpoint({
        ...ALL_EVENTS,
        description: ' Production ',
      });
      expect(getTitle(text)).to.equal('Webhook endpoint added');
      expect(text).to.match(/role="status" tabindex="-1" autofocus[^>]*><p><strong>Endpoint added\.</);
      expect(secret).to.match(SECRET);
      expect(endpoint).to.include({ url: RECEIVER_URL, description: 'Production', events: null, enabled: true });
      for (const page of [WEBHOOKS_PAGE, path]) {
        const shown = await pages.show(visitor, page);
        expect(shown).to.include('Production').and.to.not.match(SECRET);
        expect(shown).to.include('https://hooks.example.com/genmeter?a=1&amp;b=2');
      }
      expect(PUBLIC_KEY.exec(await pages.show(visitor, path))?.[0]).to.equal(endpoint.public_key);
    });

    it('adds one endpoint when its form is sent several times, and shows the same secret', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { fields } = findForm(await pages.show(visitor, WEBHOOKS_PAGE), WEBHOOKS_PAGE);
      const answers = await Promise.all(
        [1, 2, 3].map(() => visitor.submitForm(pages.at(WEBHOOKS_PAGE), { ...fields, ...ALL_EVENTS })),
      );
      const secrets = answers.map(({ text }) => SECRET.exec(text)?.[0]);
      expect(secrets[0]).to.match(SECRET);
      expect(new Set(secrets).size).to.equal(1);
      expect(await listEndpoints(customer)).to.have.length(1);
    });

    it('rejects an unusable URL and a missing or contradictory choice of types, and keeps what was entered', async () => {
      const { customer, visitor } = await createVisitor(service);
      for (const [fields, problem] of [
        [{ url: 'http://10.0.0.1/', all_events: 'on' }, 'URL must have a public host'],
        [{ url: 'ftp://example.com/', all_events: 'on' }, 'URL must be an address such as https://'],
        [{ url: '', all_events: 'on' }, 'URL must'],
        [{ url: RECEIVER_URL }, 'Choose all events, or at least one event type.'],
        [{ url: RECEIVER_URL, all_events: 'on', events: 'credits.low' }, 'You chose all events and single types.'],
        [{ url: RECEIVER_URL, events: 'credits.high' }, 'Events'],
        [{ url: RECEIVER_URL, all_events: 'on', description: 'x'.repeat(201) }, 'Description must'],
      ] as [Record<string, string>, string][]) {
        const { status, text } = await pages.send(visitor, WEBHOOKS_PAGE, { description: 'mine', ...fields });
        expect(status, problem).to.equal(400);
        expect(getTitle(text)).to.equal('Error: Webhooks');
        expect(/role="alert"[^>]*>(.*?)<\//s.exec(text)?.[1]).to.include(problem);
        expect(text).to.include(`value="${fields['description'] ?? 'mine'}"`);
        expect(/name="all_events"[^>]*>/.exec(text)?.[0].includes('checked')).to.equal('all_events' in fields);
      }
      expect(await listEndpoints(customer)).to.have.length(0);
    });

    it('shows the state of each endpoint in words, with what to do', async () => {
      const { visitor, endpoint, path } = await pages.addEndpoint();
      const set = (columns: string) =>
        service.sql(`UPDATE webhook_endpoints SET ${columns} WHERE uuid = $1`, [endpoint.uuid]);
      for (const [columns, tag, sentence] of [
        [`failing_since = now()`, 'Failing', 'have failed. Deliveries are retried one at a time.'],
        [`disabled_at = now(), disabled_reason = 'owner'`, 'Disabled', 'You disabled this endpoint, or support did'],
        [`disabled_at = now(), disabled_reason = 'gone'`, 'Disabled', 'Your server responded with 410'],
        [`disabled_at = now(), disabled_reason = 'failing'`, 'Disabled', 'All deliveries of five days failed.'],
      ] as const) {
        await set(columns);
        for (const page of [WEBHOOKS_PAGE, path]) {
          const text = await pages.show(visitor, page);
          expect(text, columns).to.include(`>${tag}</span>`).and.to.include(sentence);
        }
      }
      await set('disabled_at = NULL, disabled_reason = NULL, failing_since = NULL');
      expect(await pages.show(visitor, WEBHOOKS_PAGE)).to.include('>Enabled</span>');
    });

    it('offers no form to add an eleventh endpoint', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { fields } = findForm(await pages.show(visitor, WEBHOOKS_PAGE), WEBHOOKS_PAGE);
      for (let index = 0; index < 10; index += 1)
        await customer.request('POST', '/api/webhooks/create/', { body: { url: RECEIVER_URL } });
      expect(await pages.show(visitor, WEBHOOKS_PAGE))
        .to.include('10 endpoints, the maximum')
        .and.to.not.include('Add endpoint<');
      const { status, text } = await visitor.submitForm(pages.at(WEBHOOKS_PAGE), { ...fields, ...ALL_EVENTS });
      expect(status).to.equal(400);
      expect(text).to.include('The account already has 10 webhook endpoints, the maximum. Delete one first.');
    });
  });

  describe('the page of an endpoint', () => {
    it('changes URL, description and types', async () => {
      const { customer, visitor, path } = await pages.addEndpoint();
      const fields = { action: 'save', url: 'https://example.org/', description: 'Test', events: 'generation.failed' };
      const answer = await pages.send(visitor, path, fields);
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `${path}?done=saved`]);
      const saved = await pages.show(visitor, `${path}?done=saved`);
      expect(getTitle(saved)).to.equal('The endpoint is saved');
      expect(saved).to.match(/name="events" value="generation.failed" checked/);
      const [endpoint] = await listEndpoints(customer);
      expect(endpoint).to.deep.include({
        url: 'https://example.org/',
        description: 'Test',
        events: ['generation.failed'],
      });
      const rejected = await pages.send(visitor, path, { ...fields, url: 'https://127.0.0.1/' });
      expect([rejected.status, getTitle(rejected.text)]).to.deep.equal([400, 'Error: Test']);
      expect(rejected.text).to.include('value="https://127.0.0.1/"');
      expect((await listEndpoints(customer))[0].url).to.equal('https://example.org/');
    });

    it('disables and enables the endpoint', async () => {
      const { customer, visitor, path } = await pages.addEndpoint();
      const delivery = await pages.sendTest(visitor, path);
      const disabled = await pages.send(visitor, path, { action: 'disable' });
      expect(getTitle(await pages.show(visitor, disabled.headers.get('location') ?? ''))).to.equal(
        'The endpoint is disabled',
      );
      expect((await listEndpoints(customer))[0]).to.include({ enabled: false, disabled_reason: 'owner' });
      const text = await pages.show(visitor, path);
      expect(text).to.include('>Enable</button>').and.to.not.include('Send test event');
      const deliveryPath = `${path}deliveries/${delivery}/`;
      expect(text).to.include('>Failed</span>').and.to.include(`href="${deliveryPath}"`);
      expect(await pages.show(visitor, deliveryPath))
        .to.include('To send it again, enable the endpoint.')
        .and.to.not.include('>Send again</button>');
      for (const rejected of [
        await pages.send(visitor, path, { action: 'test' }),
        await pages.sendAgain(visitor, path, delivery),
      ]) {
        expect(rejected.status).to.equal(400);
        expect(rejected.text).to.include('The webhook endpoint is disabled. Enable it first.');
      }
      const enabled = await pages.send(visitor, path, { action: 'enable' });
      expect(enabled.headers.get('location')).to.equal(`${path}?done=enabled`);
      expect((await listEndpoints(customer))[0]).to.include({ enabled: true, disabled_reason: null });
    });

    it('rotates the secret after a confirmation, once for a form that is sent twice', async () => {
      const { visitor, secret, endpoint, path } = await pages.addEndpoint();
      const confirmation = await pages.show(visitor, `${path}rotate/`);
      expect(confirmation)
        .to.include('The old ones also sign for 24 hours')
        .and.to.not.include('stops signing at once');
      const { fields } = findForm(confirmation, `${path}rotate/`);
      const answers = await Promise.all([1, 2].map(() => visitor.submitForm(pages.at(`${path}rotate/`), fields)));
      const rotated = answers.map(({ text }) => SECRET.exec(text)?.[0]);
      expect(rotated[0]).to.match(SECRET).and.to.not.equal(secret);
      expect(rotated[1]).to.equal(rotated[0]);
      expect(getTitle(answers[0]?.text ?? '')).to.equal('Secret rotated');
      const page = await pages.show(visitor, path);
      expect(page).to.include('The previous secret and public key sign as well until').and.to.not.match(SECRET);
      expect(PUBLIC_KEY.exec(page)?.[0]).to.match(PUBLIC_KEY).and.to.not.equal(endpoint.public_key);
      expect(await pages.show(visitor, `${path}rotate/`)).to.include('stops signing at once');
      const events = await pages.show(visitor, '/account/security/');
      expect(events.split('Secret of the webhook endpoint at hooks.example.com rotated').length).to.equal(2);
    });

    it('deletes the endpoint after a confirmation', async () => {
      const { customer, visitor, path } = await pages.addEndpoint();
      expect(await pages.show(visitor, `${path}delete/`)).to.include('Delete the endpoint “hooks.example.com”?');
      const { headers } = await pages.send(visitor, `${path}delete/`);
      expect(headers.get('location')).to.equal(`${WEBHOOKS_PAGE}?done=deleted`);
      expect(getTitle(await pages.show(visitor, `${WEBHOOKS_PAGE}?done=deleted`))).to.equal(
        'The endpoint and its deliveries are deleted',
      );
      expect(await listEndpoints(customer)).to.have.length(0);
      const gone = await visitor.request(pages.at(path));
      expect([gone.status, getTitle(gone.text)]).to.deep.equal([404, 'Error: Webhooks']);
    });

    it('rejects a form without a known action', async () => {
      const { visitor, path } = await pages.addEndpoint();
      for (const action of ['', 'constructor']) {
        const { status, text } = await pages.send(visitor, path, { action });
        expect([status, text.includes('The form names no action.')]).to.deep.equal([400, true]);
      }
    });
  });
});

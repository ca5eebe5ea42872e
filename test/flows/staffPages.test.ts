import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { changeOwner } from '../harness/people.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';

const BOARD = '/admin/queues';

/** Returns the card with a heading. */
const findCard = (html: string, title: string) =>
  (html.split(`<h2>${title}</h2>`)[1] ?? '').split('</section>')[0] ?? '';
const findFigure = (html: string, title: string) => /class="figure">([^<]+)</.exec(findCard(html, title))?.[1];

const today = () => new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

describe('staff pages', () => {
  const email = `${randomUUID()}@example.com`;
  const service = useTestService({ env: { STAFF_EMAILS: email } });
  let staff: TestCustomer;
  let someone: TestCustomer;
  before(async () => {
    staff = await service.createCustomer('pro');
    await changeOwner(service, staff.email, 'email', email);
    someone = await service.createCustomer(null);
    const { uuid } = await staff.createVideo();
    await staff.waitForEnd(uuid);
  });

  const visit = (path: string, customer?: TestCustomer, headers: Record<string, string> = {}) => {
    const visitor = new HttpBrowser();
    const [name = '', value = ''] = customer?.cookie.split('=') ?? [];
    if (customer !== undefined) visitor.cookies.push({ name, value, path: '/' });
    return visitor.request(`${service.baseUrl}${path}`, { headers });
  };
  const change = (path: string, customer: TestCustomer, headers: Record<string, string>) =>
    service.request('PUT', `${BOARD}/api/queues/${path}`, { headers: { cookie: customer.cookie, ...headers } });

  describe('access', () => {
    for (const path of ['/admin/', BOARD, `${BOARD}/`, `${BOARD}/queue/poll`]) {
      it(`${path} is shown to staff`, async () => {
        const { status, text } = await visit(path, staff);
        expect(status).to.equal(200);
        expect(text).to.match(/^<!doctype html>/i);
      });
    }

    it('are closed to staff whose account is being deleted', async () => {
      await service.sql('UPDATE accounts SET deletion_requested_at = now() WHERE email = $1', [email]);
      try {
        expect((await visit('/admin/', staff)).headers.get('location')).to.equal('/account/delete/');
        const call = await service.request('GET', `${BOARD}/api/queues`, { headers: { cookie: staff.cookie } });
        expectError(call, 'admin_required', 'is being deleted');
      } finally {
        await service.sql('UPDATE accounts SET deletion_requested_at = NULL WHERE email = $1', [email]);
      }
    });

    it('have a skip link to their content', async () => {
      expect((await visit('/admin/', staff)).text)
        .to.include('<a class="skip" href="#content">')
        .and.to.match(/<main id="content"[^>]* tabindex="-1"/i);
    });

    it('are linked from the account page of staff', async () => {
      expect((await visit('/account/', staff)).text).to.match(/<a href="\/admin\/"[^>]*>Admin dashboard<\/a>/);
    });

    it('offer users who are not staff to sign in with another account', async () => {
      const account = await service.createCustomer(null);
      const visitor = new HttpBrowser();
      const [name = '', value = ''] = account.cookie.split('=');
      visitor.cookies.push({ name, value, path: '/' });
      const { text } = await visitor.request(`${service.baseUrl}/admin/`);
      expect(text).to.include('Access denied').and.to.include('Sign in with another account');
      const { fields } = findForm(text, '/account/sign-out/');
      const { status, headers } = await visitor.submitForm(`${service.baseUrl}/account/sign-out/`, fields);
      expect([status, headers.get('location')]).to.deep.equal([303, '/sign-in?done=signed-out']);
      expect((await visitor.request(`${service.baseUrl}/account/`)).status).to.equal(303);
    });

    it('reject API calls and files of the queue board in the same way', async () => {
      const calls = `${BOARD}/api/queues`;
      expectError(await service.request('GET', calls), 'invalid_api_key');
      expectError(await service.request('GET', calls, { headers: { cookie: someone.cookie } }), 'admin_required');
      expect((await visit(`${BOARD}/static/images/logo.svg`, someone)).status).to.equal(403);
      // An API key opens the API, not these pages.
      const headers = { authorization: `Bearer ${staff.key}` };
      expectError(await service.request('GET', calls, { headers }), 'invalid_api_key');
    });
  });

  describe('the queue board', () => {
    it('shows all queues under a policy that relaxes only styles', async () => {
      const { headers, text } = await visit(BOARD, staff);
      expect(headers.get('content-security-policy')).to.equal(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'self'",
      );
      expect(headers.get('x-frame-options')).to.equal('DENY');
      expect(text).to.not.match(/https?:\/\/fonts/);
      const { body } = await service.request('GET', `${BOARD}/api/queues`, { headers: { cookie: staff.cookie } });
      expect(body.queues.map(({ name }: { name: string }) => name)).to.have.members([
        'dispatch',
        'poll',
        'collect',
        'billing',
        'media',
        'maintenance',
        'notifications',
        'tasks',
      ]);
    });

    it('accepts changes from its own pages only', async () => {
      const isPaused = async () => {
        const response = await service.request('GET', `${BOARD}/api/queues`, { headers: { cookie: staff.cookie } });
        return response.body.queues.find(({ name }: { name: string }) => name === 'media').isPaused as boolean;
      };
      for (const origin of ['https://evil.example', 'null', undefined]) {
        const response = await change('media/pause', staff, origin === undefined ? {} : { origin });
        expectError(response, 'invalid_api_key', 'Origin');
      }
      expect(await isPaused()).to.equal(false);
      expectError(await change('media/pause', someone, { origin: service.baseUrl }), 'admin_required');
      expect((await change('media/pause', staff, { origin: service.baseUrl })).status).to.equal(200);
      expect(await isPaused()).to.equal(true);
      const shown = (await visit('/admin/', staff)).text;
      expect(shown)
        .to.include('Jobs by queue; paused: media')
        .and.to.match(/>paused<\/text>/);
      expect((await change('media/resume', staff, { origin: service.baseUrl })).status).to.equal(200);
      expect(await isPaused()).to.equal(false);
      expect((await visit('/admin/', staff)).text).to.not.include('paused');
    });

    it('logs each change with its author, and no reads', async () => {
      const id = `change-${randomUUID()}`;
      const headers = { origin: service.baseUrl, 'x-request-id': id };
      const [{ id: account }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [email]);
      await service.request('GET', `${BOARD}/api/queues`, { headers: { cookie: staff.cookie, 'x-request-id': id } });
      for (const path of ['media/pause', 'media/resume', 'poll/clean/completed']) {
        expect((await change(path, staff, headers)).status).to.equal(200);
      }
      const lines = () => {
        const logs = service.apis.flatMap((api) => api.logs().split('\n'));
        return logs.filter((line) => line.includes(id)).map((line) => JSON.parse(line));
      };
      await eventually('all is logged', () => lines().filter(({ msg }) => msg === 'request').length === 4);
      const changes = lines().filter(({ msg }) => msg === 'queue board change');
      const logged = changes.map(({ queue, action, account: who, status }) => [queue, action, String(who), status]);
      expect(logged).to.deep.equal([
        ['media', 'pause', String(account), 200],
        ['media', 'resume', String(account), 200],
        ['poll', 'clean/completed', String(account), 200],
      ]);
    });
  });

  describe('the charts', () => {
    it('are drawn without scripts or inline styles and show the metrics', async () => {
      const { headers, text } = await visit('/admin/', staff);
      expect(headers.get('content-security-policy')).to.include("default-src 'none'; style-src 'self';");
      expect(text).to.not.match(/<script|<style| style=| on\w+=/i);
      for (const title of [
        'Signups',
        'Onboarding',
        'Subscriptions',
        'Credits used',
        'Revenue',
        'Sales',
        'Provider cost',
        'Gross margin',
        'Models',
        'Queues',
      ])
        expect(text).to.include(`<h2>${title}</h2>`);
      expect(text).to.include(`<span class="tip">${today()}, so far: 35</span>`);
      expect(findCard(text, 'Onboarding')).to.match(
        /Account created<\/th><td class="number">[23]<.*Completed<\/th><td class="number">0</,
      );
      expect(text).to.include('$348.00 yearly subscription revenue');
      expect(text).to.include(`href="${BOARD}"`);
    });
  });

  describe('the figures', () => {
    it('share one definition of revenue and one period', async () => {
      expect((await staff.request('POST', '/api/billing/topup/', { body: { amount_cents: 12_300 } })).status).to.equal(
        200,
      );
      await eventually('an hour is final', async () => (await service.sql('SELECT 1 FROM report_progress')).length > 0);
      await service.sql(
        `INSERT INTO generation_hours (hour, model, upstream, upstream_model, plan, generations, succeeded, failed, plan_credits,
                                       topup_credits, refunded_credits, plan_revenue_cents, topup_revenue_cents,
                                       commission_cents, provider_cost_cents, timed, latency_ms_sum, latency_ms_max)
         VALUES (current_date - 90, 'imgmodel-2', '', '', '', 4000, 4000, 0, 32000, 0, 0, 0, 0, 0, 5540000, 0, 0, 0)`,
      );
      try {
        const { text } = await visit('/admin/', staff);
        const { margins, by_model: byModel } = (await staff.request('GET', '/api/admin/metrics/')).body;
        expect(margins.monthly_revenue_cents).to.equal(2_900 + 12_300);
        expect(byModel[1]).to.include({ generations: 4_000, credits: 32_000, provider_cost_cents: 5_540_000 });
        expect(findFigure(text, 'Revenue')).to.equal('$152.00');
        expect(findCard(text, 'Gross margin')).to.include('>$152.00<');
        expect(findFigure(text, 'Sales')).to.equal('$471.00');
        expect(findCard(text, 'Models'))
          .to.include('in the last 30 days')
          .and.to.not.match(/4,000|32,000|55,4/);
      } finally {
        await service.sql('DELETE FROM generation_hours WHERE hour = current_date - 90');
      }
    });

    it('are also available as tables', async () => {
      const { text } = await visit('/admin/', staff);
      expect(text.match(/<summary>Show as a table/g)).to.have.length(9);
      expect(findCard(text, 'Credits used')).to.match(
        /<th scope="row">\d+ \w+, so far<\/th><td class="number">35<\/td>/,
      );
    });
  });
});

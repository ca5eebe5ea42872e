import { expect } from 'chai';
import { createVisitor, getPageWithForm } from '../harness/accountForms.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { filterRoutes, isChange, ROUTES } from '../harness/routes.ts';
import { useTestService } from '../harness/testService.ts';

describe('forms of pages', () => {
  const service = useTestService({ workers: 0 });

  const at = (path: string) => `${service.baseUrl}${path}`;

  describe('the local sign-in', () => {
    it('signs in through the form and redirects to the return path', async () => {
      const visitor = new HttpBrowser();
      const { text } = await visitor.request(at('/sign-in?return_to=%2Faccount%2F%3Fcheckout%3Dcanceled'));
      const form = findForm(text, '/sign-in');
      const answer = await visitor.submitForm(at('/sign-in'), { ...form.fields, email: 'Local@Example.com' });
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/account/?checkout=canceled']);
      const page = await visitor.request(at('/account/?checkout=canceled'));
      expect(page.text).to.include('local@example.com').and.to.include('Checkout canceled. You were not charged.');
    });

    it('shows an error for an invalid address and keeps the input', async () => {
      const answer = await new HttpBrowser().submitForm(at('/sign-in'), {
        email: 'no <address>',
        return_to: '//evil.example',
      });
      expect(answer.status).to.equal(400);
      expect(answer.text).to.include('Enter a valid e-mail address').and.to.include('value="no &lt;address');
      expect(answer.text).to.not.include('evil.example');
    });

    it('links to the configured address when the page was opened at another host name', async () => {
      const visitor = new HttpBrowser();
      const other = service.baseUrl.replace('127.0.0.1', 'localhost');
      expect(other).to.not.equal(service.baseUrl);
      const answer = await visitor.submitForm(at('/sign-in'), { email: 'a@example.com' }, other);
      expect(answer.status).to.equal(403);
      expect(answer.text).to.include(`Open this service at <a href="${service.baseUrl}">${service.baseUrl}</a>`);
      expect(answer.text).to.include('<h1>Wrong address</h1>').and.to.not.include('Access denied');
      expect(visitor.cookie('token')).to.equal(undefined);
      // An opaque origin gets no link.
      const nowhere = await visitor.submitForm(at('/sign-in'), { email: 'a@example.com' }, 'null');
      expect(nowhere.text).to.include('<h1>Request failed</h1>').and.to.not.include('Open this service');
    });

    it('rejects forms from other sites and forms without an origin', async () => {
      for (const origin of ['https://evil.example', 'null', '']) {
        const visitor = new HttpBrowser();
        const answer = await visitor.submitForm(at('/sign-in'), { email: 'a@example.com' }, origin);
        expect(answer.status).to.equal(403);
        expect(visitor.cookie('token')).to.equal(undefined);
      }
    });
  });

  describe('a form of the account page', () => {
    it('is rejected with the CSRF token of another session of the account', async () => {
      const { customer, visitor } = await createVisitor(service);
      const another = new HttpBrowser();
      await another.submitForm(at('/sign-in'), { email: customer.email });
      const { fields } = findForm((await another.request(at('/account/settings/'))).text, '/account/profile/');
      const answer = await visitor.submitForm(at('/account/profile/'), { ...fields, first_name: 'stolen' });
      expect(answer.status).to.equal(403);
      expect((await another.submitForm(at('/account/profile/'), { ...fields, first_name: 'mine' })).status).to.equal(
        303,
      );
    });

    it('changes nothing after the session has ended, and redirects to a sign-in that keeps the input', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { text } = await visitor.request(at('/account/settings/'));
      await customer.requestWithSession('POST', '/authentication/logout/');
      const { fields } = findForm(text, '/account/profile/');
      const entered = { ...fields, first_name: 'late', language: 'pt-BR' };
      const answer = await visitor.submitForm(at('/account/profile/'), entered);
      const location = '/sign-in?problem=session-ended&return_to=%2Faccount%2Fprofile%2F';
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, location]);
      const signIn = await visitor.request(at('/sign-in?problem=session-ended'));
      expect(signIn.text).to.include('Your session has ended and nothing was changed.');
      expect(signIn.text).to.include('<title>Error: Sign in · genmeter</title>');

      // The input is restored once, and only for the same account.
      const typed = 'value="late"';
      const kept = visitor.cookies.slice();
      await visitor.submitForm(at('/sign-in'), { email: customer.email });
      expect((await visitor.request(at('/account/settings/'))).text)
        .to.include(typed)
        .and.to.match(/<option value="pt-BR" selected[^>]*>/);
      expect((await visitor.request(at('/account/settings/'))).text).to.not.include(typed);
      expect((await customer.on(service.baseUrl).request('GET', '/api/keys/')).status).to.equal(200);
      const other = new HttpBrowser();
      other.cookies = kept;
      await other.submitForm(at('/sign-in'), { email: 'another-customer@example.com' });
      expect((await other.request(at('/account/settings/'))).text).to.not.include(typed);
    });

    it('keeps all options of a new key, so that none is created without its limits', async () => {
      const { customer, visitor } = await createVisitor(service);
      const { fields } = findForm((await visitor.request(at('/account/keys/'))).text, '/account/keys/');
      await customer.requestWithSession('POST', '/authentication/logout/');
      const options = { limit_credits: '100', limit_period: 'month', allowed_ips: '192.0.2.1', scopes: 'svc:read' };
      await visitor.submitForm(at('/account/keys/'), { ...fields, ...options, name: 'ci' });
      await visitor.submitForm(at('/sign-in'), { email: customer.email });
      const { text } = await visitor.request(at('/account/keys/'));
      expect(text)
        .to.include('<details open')
        .and.include('value="ci"')
        .and.include('value="100"')
        .and.include('192.0.2.1')
        .and.match(/<option value="month" selected/)
        .and.match(/name="scopes" value="svc:read" checked/);
      const restored = findForm(text, '/account/keys/').fields;
      expect(restored['request']).to.not.equal(fields['request']);
    });

    it('returns to its own page when the session had ended', async () => {
      const { customer, visitor } = await createVisitor(service);
      const [{ uuid }] = (await customer.request('GET', '/api/keys/')).body.data;
      const path = `/account/keys/${uuid}/revoke/`;
      await customer.requestWithSession('POST', '/authentication/logout/');
      const send = async (headers: { referer?: string }) => {
        const answer = await visitor.request(at(path), {
          method: 'POST',
          headers: { origin: service.baseUrl, 'content-type': 'application/x-www-form-urlencoded', ...headers },
          body: '',
        });
        return answer.headers.get('location');
      };
      const expected = `/sign-in?problem=session-ended&return_to=${encodeURIComponent(path)}`;
      // Browsers and proxies may remove the header: the address of the form is then the page to return to.
      for (const headers of [
        { referer: at(path) },
        { referer: 'https://evil.example/admin/' },
        { referer: 'none' },
        {},
      ])
        expect(await send(headers)).to.equal(expected);
      expect(await send({ referer: at('/account/?done=plan') })).to.equal('/sign-in?problem=session-ended');
      expect((await customer.request('GET', '/api/keys/')).status).to.equal(200);
    });

    it('has a page at its address, to which a browser can return after a sign-in', () => {
      const forms = filterRoutes('member', 'operator').filter(isChange);
      const pages = new Set(ROUTES.filter((route) => !isChange(route)).map(({ path }) => path));
      expect(forms.length).to.be.above(20);
      expect(forms.map(({ path }) => path).filter((path) => !pages.has(path))).to.deep.equal([]);
    });

    it('redirects to its page when its address is opened with GET', async () => {
      const { visitor } = await createVisitor(service);
      const names = ['plan', 'portal', 'billing/topup', 'profile', 'identities/github/link', 'payouts', 'sign-out'];
      for (const name of names) {
        const action = `/account/${name}/`;
        const answer = await visitor.request(at(action));
        expect([answer.status, answer.headers.get('location')], name).to.deep.equal([303, getPageWithForm(action)]);
      }
    });

    it('is rejected with an error page when it is malformed or too large', async () => {
      const { visitor } = await createVisitor(service);
      const send = (body: string, type: string) =>
        visitor.request(at('/account/profile/'), {
          method: 'POST',
          headers: { origin: service.baseUrl, 'content-type': type },
          body,
        });
      const json = await send('{}', 'application/json');
      const large = await send(`a=${'x'.repeat(70_000)}`, 'application/x-www-form-urlencoded');
      expect([json.status, large.status]).to.deep.equal([400, 413]);
      for (const { headers } of [json, large]) expect(headers.get('content-type')).to.include('text/html');
    });
  });
});

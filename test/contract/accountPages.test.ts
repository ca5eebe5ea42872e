import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { eventually, useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe('account pages', () => {
  const service = useTestService({ workers: 0 });

  const at = (path: string) => `${service.baseUrl}${path}`;

  const newVisitor = (plan: string | null = null) => createVisitor(service, plan);
  const sendForm = (visitor: HttpBrowser, action: string, fields?: Record<string, string>) =>
    sendAccountForm(service.baseUrl, visitor, action, fields);

  const getSessions = ({ email }: TestCustomer) =>
    service.sql(
      'SELECT s.uuid, s.user_agent, s.last_used_at FROM sessions s JOIN accounts a ON a.id = s.account_id WHERE a.email = $1 ORDER BY s.uuid',
      [email],
    );

  const usedAt = async (customer: TestCustomer) => ((await getSessions(customer))[0].last_used_at as Date).getTime();

  describe('every page', () => {
    it('forbids scripts, other stylesheets, framing and caching', async () => {
      const { visitor } = await newVisitor();
      const paths = ['/sign-in', '/authentication/social/unknown/start'];
      for (const page of [
        await visitor.request(at('/account/sessions/end-others/')),
        ...(await Promise.all(paths.map((path) => new HttpBrowser().request(at(path))))),
      ]) {
        expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8');
        expect(page.headers.get('content-security-policy')).to.equal(
          "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        );
        expect(page.headers.get('x-frame-options')).to.equal('DENY');
        expect(page.headers.get('referrer-policy')).to.equal('same-origin');
        expect(page.headers.get('cache-control')).to.equal('no-store');
        expect(page.text).to.match(/^<!doctype html><html lang="en">/);
        expect(page.text).to.not.match(/<script|<style| style=| on\w+=/i);
      }
    });

    it('links to its stylesheet by the hash of its content, which is cached forever', async () => {
      const { text } = await new HttpBrowser().request(at('/sign-in'));
      const [, path = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
      const named = await new HttpBrowser().request(at(path));
      expect(named.headers.get('content-type')).to.equal('text/css; charset=utf-8');
      expect(named.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
      expect(path).to.include(createHash('sha256').update(named.text).digest('hex').slice(0, 16));
      const plain = await new HttpBrowser().request(at('/assets/style.css?v=0'));
      expect([plain.status, plain.headers.get('cache-control')]).to.deep.equal([200, 'no-cache']);
    });

    it('does not display unknown values of query parameters', async () => {
      const evil = encodeURIComponent('"><b>evil</b>');
      for (const path of [`/sign-in?problem=${evil}&return_to=${evil}`, `/sign-in?problem=constructor`]) {
        const { status, text } = await new HttpBrowser().request(at(path));
        expect(status).to.equal(200);
        expect(text).to.not.include('evil').and.to.not.include('role="alert"');
      }
      const { visitor } = await newVisitor();
      for (const page of ['', 'billing/', 'keys/', 'webhooks/', 'applications/', 'affiliate/', 'settings/', 'library/'])
        for (const word of [evil, 'toString']) {
          const { text } = await visitor.request(at(`/account/${page}?done=${word}&checkout=${word}`));
          expect(text).to.not.match(/evil|role="status"/);
        }
    });
  });

  describe('the root path', () => {
    it('shows visitors what the service costs, and redirects to the account with a session', async () => {
      const page = await new HttpBrowser().request(at('/'));
      expect(page.status).to.equal(200);
      expect(page.text).to.include('8 credits an image').and.to.include('from $0.21 on Pro');
      expect(page.text).to.include('137 images or 31 videos').and.to.include('href="/account/"');
      const { visitor } = await newVisitor();
      const redirected = await visitor.request(at('/'));
      expect([redirected.status, redirected.headers.get('location')]).to.deep.equal([302, '/account/']);
    });

    it('is followed by pages for models and prices', async () => {
      const models = await new HttpBrowser().request(at('/models/'));
      expect(models.text).to.include('<h1>Models</h1>').and.to.include('imgmodel-2').and.to.include('1K, 2K, 4K');
      const pricing = await new HttpBrowser().request(at('/pricing/'));
      expect(pricing.text).to.include('<h1>Pricing</h1>').and.to.include('1,896 credits');
      expect(pricing.text).to.include('Choose Studio');
    });

    it('leads visitors without a session to the sign-in page with a return path', async () => {
      const wanted = await new HttpBrowser().request(at('/account/?checkout=success'));
      expect([wanted.status, wanted.headers.get('location')]).to.deep.equal([
        303,
        '/sign-in?return_to=%2Faccount%2F%3Fcheckout%3Dsuccess',
      ]);
    });
  });

  describe('the account', () => {
    it('shows the address, the balance, the plan and the active sessions', async () => {
      const { customer, visitor } = await newVisitor('studio');
      const { text } = await visitor.request(at('/account/'));
      expect(text).to.include(customer.email).and.to.include('3,000').and.to.include('Studio plan');
      expect((await visitor.request(at('/account/settings/'))).text).to.include('This browser');
    });

    it('links to the API reference, and to the admin dashboard for staff only', async () => {
      const { visitor } = await newVisitor();
      const { text } = await visitor.request(at('/account/'));
      expect(text).to.include('<a href="/api/docs/">API reference</a>');
      expect(text).to.not.include('href="/admin/"');
    });

    it('states that commissions are not paid while payments are simulated', async () => {
      const { visitor } = await newVisitor();
      await sendForm(visitor, '/account/affiliate/');
      const { text } = await visitor.request(at('/account/affiliate/'));
      expect(text).to.include('Your link:').and.to.include('commissions are not paid');
      expect(text).to.not.include('Payouts are enabled');
    });

    it('saves the profile and completes the profile step', async () => {
      const { customer, visitor } = await newVisitor();
      const answer = await sendForm(visitor, '/account/profile/', { first_name: ' Ada ', use_case: 'films' });
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/account/settings/?done=profile']);
      const { user } = (await customer.requestWithSession('GET', '/authentication/me/')).body;
      expect(user).to.include({ first_name: 'Ada', use_case: 'films', onboarding_step: 'plan' });
    });

    it('completes the onboarding with the profile form and the plan form, in either order', async () => {
      const profile = { action: '/account/profile/', fields: { first_name: 'Ada' } };
      const plan = { action: '/account/plan/', fields: { plan: 'pro' } };
      for (const [forms, halfway] of [
        [[profile, plan], 'plan'],
        [[plan, profile], 'profile'],
      ] as const) {
        const { customer, visitor } = await newVisitor();
        const step = async () =>
          (await customer.requestWithSession('GET', '/authentication/me/')).body.user.onboarding_step;
        await sendForm(visitor, forms[0].action, forms[0].fields);
        expect(await step()).to.equal(halfway);
        await sendForm(visitor, forms[1].action, forms[1].fields);
        expect(await step()).to.equal('complete');
        await sendForm(visitor, '/account/profile/', { first_name: 'Bob' });
        expect(await step()).to.equal('complete');
      }
    });

    it('creates one key when its form is sent several times, and shows it each time', async () => {
      const { customer, visitor } = await newVisitor();
      const { text } = await visitor.request(at('/account/keys/'));
      const fields = { ...findForm(text, '/account/keys/').fields, name: 'from the page' };
      const answers = await Promise.all([1, 2, 3].map(() => visitor.submitForm(at('/account/keys/'), fields)));
      const keys = answers.map((answer) => /svc_[0-9a-f]{40}/.exec(answer.text)?.[0]);
      expect(keys[0]).to.match(/^svc_/);
      expect(new Set(keys).size).to.equal(1);
      const { data } = (await customer.request('GET', '/api/keys/')).body;
      expect(data.map((key: { name: string }) => key.name)).to.deep.equal(['from the page', 'test']);
    });

    it('shows why a form was rejected', async () => {
      const { visitor } = await newVisitor('pro');
      const rejections: [string, Record<string, string>, string][] = [
        ['/account/keys/', { name: ' ' }, 'must have at least 1 character'],
        ['/account/plan/', { plan: 'gold' }, 'must be one of: lite, starter, pro, studio'],
        ['/account/plan/', { plan: 'pro' }, 'The account is on the Pro plan already'],
        ['/account/profile/', { first_name: 'x'.repeat(201) }, 'must have at most 200 characters'],
      ];
      for (const [action, fields, sentence] of rejections) {
        const answer = await sendForm(visitor, action, fields);
        expect(answer.status, action).to.equal(400);
        expect(answer.headers.get('content-type')).to.include('text/html');
        expect(answer.text).to.include(sentence).and.to.include('role="alert"');
      }
    });

    it('asks for confirmation before it revokes a key', async () => {
      const { customer, visitor } = await newVisitor();
      const [{ uuid }] = (await customer.request('GET', '/api/keys/')).body.data;
      const path = `/account/keys/${uuid}/revoke/`;
      const { text } = await visitor.request(at('/account/keys/'));
      expect(text).to.include(`href="${path}"`).and.to.not.include(`action="${path}"`);
      const question = await visitor.request(at(path));
      expect(question.status).to.equal(200);
      expect(question.text).to.include('<h1>Revoke API key “test”?</h1>').and.to.include('href="/account/keys/">');
      expect((await customer.request('GET', '/api/keys/')).status).to.equal(200);
      const done = await visitor.submitForm(at(path), findForm(question.text, path).fields);
      expect(done.headers.get('location')).to.equal('/account/keys/?done=revoked');
      expectError(await customer.request('GET', '/api/keys/'), 'invalid_api_key');
      const again = await visitor.request(at(path));
      expect(again.status).to.equal(404);
      expect(again.text).to.include('has already been revoked');
    });

    it('asks for confirmation before it ends all other sessions', async () => {
      const { customer, visitor } = await newVisitor();
      await new HttpBrowser().submitForm(at('/sign-in'), { email: customer.email });
      expect((await visitor.request(at('/account/settings/'))).text).to.include('href="/account/sessions/end-others/"');
      const question = await visitor.request(at('/account/sessions/end-others/'));
      expect(question.text).to.include('<h1>Sign out of all other sessions?</h1>');
      expect((await getSessions(customer)).length).to.equal(2);
    });
  });

  describe('sessions', () => {
    it('are listed with their browser, and can be ended one by one or all but the current one', async () => {
      const { customer, visitor } = await newVisitor();
      const elsewhere = [new HttpBrowser(), new HttpBrowser(), new HttpBrowser()];
      for (const other of elsewhere) await other.submitForm(at('/sign-in'), { email: customer.email });
      const isIn = async (other: HttpBrowser) => (await other.request(at('/account/'))).status === 200;
      const page = await visitor.request(at('/account/settings/'));
      expect(page.text.match(/Firefox on Linux/g)?.length).to.be.at.least(3);
      const before = await getSessions(customer);
      expect(before.length).to.equal(4);
      expect(before[1].user_agent).to.equal(FIREFOX);

      await sendForm(visitor, `/account/sessions/${before[1].uuid}/end/`);
      expect(await Promise.all(elsewhere.map(isIn))).to.deep.equal([false, true, true]);
      await sendForm(visitor, '/account/sessions/end-others/');
      expect(await Promise.all([visitor, ...elsewhere].map(isIn))).to.deep.equal([true, false, false, false]);
      const out = await sendForm(visitor, '/account/sign-out/');
      expect(out.headers.get('location')).to.equal('/sign-in?done=signed-out');
      expect(await isIn(visitor)).to.equal(false);
      expect(await getSessions(customer)).to.deep.equal([]);
    });

    it('are recorded as used, at most once in 60 seconds', async () => {
      const [{ customer: old }, { customer: recent, visitor }] = [await newVisitor(), await newVisitor()];
      const mark = async (customer: TestCustomer, age: string) => {
        await service.sql(
          `UPDATE sessions SET last_used_at = now() - interval '${age}' WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
          [customer.email],
        );
        return usedAt(customer);
      };
      const [oldUse, recentUse] = [await mark(old, '1 hour'), await mark(recent, '30 seconds')];
      // A process that has seen neither session writes its updates in order: the second one is visible last.
      const other = await service.startApi();
      for (const customer of [recent, old])
        await customer.on(other.baseUrl).requestWithSession('GET', '/authentication/me/');
      await eventually('the use is recorded', async () => (await usedAt(old)) > oldUse + 3_000_000);
      await visitor.request(at('/account/'));
      await other.stop();
      expect(await usedAt(recent)).to.equal(recentUse);
    });
  });
});

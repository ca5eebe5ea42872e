import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, type HttpBrowser } from '../harness/httpBrowser.ts';
import { addMember, findListed } from '../harness/members.ts';
import { createPkce, getRedirectLocation, registerClient, submitConsent } from '../harness/oauthClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { useTestService } from '../harness/testService.ts';

type Fields = Record<string, string>;

const WHOLE_ACCOUNT = { all_scopes: 'on', expires_at: '', limit_period: 'day', all_models: 'on', allowed_ips: '' };

const buildProblem = (change: string) =>
  `${change} after you opened the page, so your changes were not saved. The form now shows the present values. Make your changes again.`;
const getProblem = (page: string) => /role="alert"[^>]*>(.*?)<\//s.exec(page)?.[1];
const readSettings = async (owner: TestCustomer) => {
  const { body } = await owner.request('GET', '/api/billing/topup/settings/');
  return [body.auto_topup_enabled, body.auto_topup_amount_cents, body.auto_topup_threshold_credits];
};
const findKey = async (owner: TestCustomer, uuid: string) =>
  (await owner.requestWithSession('GET', '/api/keys/')).body.data.find((key: any) => key.uuid === uuid);

describe('a form that was opened before another change', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  let visitor: HttpBrowser;
  beforeEach(async () => {
    ({ customer, visitor } = await createVisitor(service, 'studio'));
  });

  const at = (path: string) => `${service.baseUrl}${path}`;
  /** Opens a page. @returns a function that sends the form that it has now. */
  async function open(path: string, page = path): Promise<(fields: Fields) => ReturnType<HttpBrowser['submitForm']>> {
    const { fields } = findForm((await visitor.request(at(page))).text, path);
    return (changes) => visitor.submitForm(at(path), { ...fields, ...changes });
  }

  describe('on the page of a key', () => {
    it('is rejected with the reason, changes nothing, and shows the present options, which can then be saved', async () => {
      const { uuid } = await createRestrictedKey(service, customer, {});
      const path = `/account/keys/${uuid}/`;
      const submit = await open(path);
      const body = { credit_limit: { credits: 50, period: 'day' }, expires_at: '2099-01-01' };
      await customer.requestWithSession('PATCH', `/api/keys/${uuid}/`, { body });
      const changed = await findKey(customer, uuid);
      const { status, text } = await submit({ ...WHOLE_ACCOUNT, name: 'renamed', limit_credits: '' });
      expect([status, getProblem(text)]).to.deep.equal([400, buildProblem('This API key was changed')]);
      expect(text).to.include('value="50"').and.to.include('value="2099-01-01"').and.to.not.include('renamed');
      expect(await findKey(customer, uuid)).to.deep.equal(changed);
      const { fields } = findForm(text, path);
      const options = { ...WHOLE_ACCOUNT, limit_credits: '50', expires_at: '2099-01-01' };
      expect((await visitor.submitForm(at(path), { ...fields, ...options, name: 'renamed' })).status).to.equal(303);
      expect(await findKey(customer, uuid)).to.deep.equal({ ...changed, name: 'renamed' });
    });

    it('is rejected for all but one of concurrent changes', async () => {
      const { uuid } = await createRestrictedKey(service, customer, {});
      const submit = await open(`/account/keys/${uuid}/`);
      const names = ['one', 'two', 'three', 'four'];
      const pages = await Promise.all(names.map((name) => submit({ ...WHOLE_ACCOUNT, limit_credits: '', name })));
      expect(pages.map(({ status }) => status)).to.have.members([303, 400, 400, 400]);
      expect((await findKey(customer, uuid)).name).to.equal(names[pages.findIndex(({ status }) => status === 303)]);
    });

    it('is accepted if it was sent twice', async () => {
      const { uuid } = await createRestrictedKey(service, customer, {});
      const submit = await open(`/account/keys/${uuid}/`);
      for (let count = 0; count < 2; count += 1)
        expect((await submit({ ...WHOLE_ACCOUNT, name: 'renamed', limit_credits: '5' })).status).to.equal(303);
      expect(await findKey(customer, uuid)).to.deep.include({
        name: 'renamed',
        credit_limit: { credits: 5, period: 'day' },
      });
    });
  });

  describe('on the page of an application', () => {
    let path: string;
    beforeEach(async () => {
      const client = await registerClient(service.baseUrl);
      const { verifier, challenge } = createPkce();
      const fields = { limit_credits: '10', limit_period: 'day' };
      const approved = await submitConsent(service.baseUrl, customer, client.authorizePath(challenge), 'allow', fields);
      await client.exchangeCode(new URL(getRedirectLocation(approved)).searchParams.get('code') ?? '', verifier);
      const [{ uuid }] = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]);
      path = `/account/applications/${uuid}/limit/`;
    });
    const present = async () => findForm((await visitor.request(at(path))).text, path).fields['former'];

    it('is rejected with the reason, changes nothing, and shows the present limit, which can then be changed', async () => {
      const submit = await open(path);
      await (await open(path))({ limit_credits: '30', limit_period: 'month' });
      const { status, text } = await submit({ limit_credits: '', limit_period: 'day' });
      expect([status, getProblem(text)]).to.deep.equal([400, buildProblem('The spending limit was changed')]);
      expect(await present()).to.equal('30/month');
      expect(text).to.include('value="30"');
      const { fields } = findForm(text, path);
      expect(
        (await visitor.submitForm(at(path), { ...fields, limit_credits: '', limit_period: 'month' })).status,
      ).to.equal(303);
      expect(await present()).to.equal('none');
    });

    it('is rejected for all but one of concurrent changes, and accepted if it was sent twice', async () => {
      const submit = await open(path);
      const limits = ['20', '40', '60', ''];
      const pages = await Promise.all(limits.map((credits) => submit({ limit_credits: credits, limit_period: 'day' })));
      expect(pages.map(({ status }) => status)).to.have.members([303, 400, 400, 400]);
      const saved = limits[pages.findIndex(({ status }) => status === 303)] ?? '';
      expect(await present()).to.equal(saved === '' ? 'none' : `${saved}/day`);
      expect((await submit({ limit_credits: saved, limit_period: 'day' })).status).to.equal(303);
    });
  });

  describe('on the page of a member', () => {
    it('restores neither a role nor a limit, shows the present ones, and is accepted if it was sent twice', async () => {
      const member = await addMember(customer, 'admin');
      const { uuid } = await findListed(customer, member);
      const path = `/account/members/${uuid}/`;
      const read = async () => {
        const { role, credit_limit: limit } = await findListed(customer, member);
        return [role, limit];
      };
      const submit = await open(path);
      const limited = { role: 'admin', limit_credits: '70', limit_period: 'day' };
      await customer.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'viewer' } });
      const { status, text } = await submit(limited);
      expect([status, getProblem(text)]).to.deep.equal([400, buildProblem('This member was changed')]);
      expect(text)
        .to.match(/value="viewer" selected/)
        .and.to.not.include('value="70"');
      expect(await read()).to.deep.equal(['viewer', undefined]);
      const later = await open(path);
      const body = { credit_limit: { credits: 50, period: 'day' } };
      await customer.requestWithSession('PATCH', `/api/members/${uuid}/`, { body });
      expect((await later({ role: 'developer', limit_credits: '', limit_period: 'day' })).status).to.equal(400);
      expect(await read()).to.deep.equal(['viewer', body.credit_limit]);
      const present = await open(path);
      for (let count = 0; count < 2; count += 1)
        expect((await present({ ...limited, role: 'billing' })).status).to.equal(303);
      expect(await read()).to.deep.equal(['billing', { credits: 70, period: 'day' }]);
    });
  });

  describe('and has a field that is not accepted', () => {
    it('is rejected when that is corrected, and shows the present values then', async () => {
      const member = await addMember(customer, 'developer');
      const { uuid } = await findListed(customer, member);
      const path = `/account/members/${uuid}/`;
      const submit = await open(path);
      await customer.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'viewer' } });
      const entered = { role: 'developer', limit_credits: '1,000', limit_period: 'day' };
      const wrong = await submit(entered);
      expect([wrong.status, getProblem(wrong.text)?.includes('was changed')]).to.deep.equal([400, false]);
      const { fields } = findForm(wrong.text, path);
      const corrected = { ...fields, ...entered, limit_credits: '1000' };
      const { status, text } = await visitor.submitForm(at(path), corrected);
      expect([status, getProblem(text)]).to.deep.equal([400, buildProblem('This member was changed')]);
      expect(text).to.match(/value="viewer" selected/);
      expect(await findListed(customer, member)).to.include({ role: 'viewer' });
    });
  });

  describe('on the page of a webhook endpoint', () => {
    it('does not restore its former address, and is accepted if it was sent twice', async () => {
      const body = { url: 'https://example.com/first', description: 'Mine' };
      const { uuid } = (await customer.request('POST', '/api/webhooks/create/', { body })).body;
      const [path, url] = [`/account/webhooks/${uuid}/`, 'https://example.com/second'];
      const openSettings = async () => {
        const { text } = await visitor.request(at(path));
        const former = /name="former" value="([^"]*)"/.exec(text)?.[1]?.replaceAll('&quot;', '"') ?? '';
        const fields = { ...findForm(text, path).fields, action: 'save', former, all_events: 'on' };
        return (changes: Fields) => visitor.submitForm(at(path), { ...fields, ...changes });
      };
      const submit = await openSettings();
      await customer.request('PATCH', `/api/webhooks/${uuid}/`, { body: { url } });
      const { status, text } = await submit({ url: body.url, description: 'Renamed' });
      expect([status, getProblem(text)]).to.deep.equal([400, buildProblem('This endpoint was changed')]);
      expect(text).to.include(`value="${url}"`).and.not.include('Renamed');
      const present = await openSettings();
      for (let count = 0; count < 2; count += 1)
        expect((await present({ url, description: 'Renamed' })).status).to.equal(303);
      const { body: saved } = await customer.request('GET', `/api/webhooks/${uuid}/`);
      expect(saved).to.include({ url, description: 'Renamed' });
    });
  });

  describe('with the settings of automatic top-ups', () => {
    const path = '/account/billing/auto-topup/';
    it('does not switch them on again, and is accepted if it was sent twice', async () => {
      const on = { enabled: 'on', amount: '50', threshold: '100' };
      const first = await open(path, '/account/billing/');
      for (let count = 0; count < 2; count += 1) expect((await first(on)).status).to.equal(303);
      const submit = await open(path, '/account/billing/');
      await service.sql(
        `UPDATE accounts SET auto_topup_enabled = false, auto_topup_problem = 'declined' WHERE email = $1`,
        [customer.email],
      );
      const { status, text } = await submit({ ...on, threshold: '200' });
      expect([status, getProblem(text)]).to.deep.equal([
        400,
        buildProblem('The settings of automatic top-ups were changed'),
      ]);
      expect(text)
        .to.include('Your card was declined')
        .and.to.not.match(/name="enabled" value="on" checked/);
      expect(await readSettings(customer)).to.deep.equal([false, 5_000, 100]);
      const { fields } = findForm(text, path);
      expect((await visitor.submitForm(at(path), { ...fields, ...on, threshold: '200' })).status).to.equal(303);
      expect(await readSettings(customer)).to.deep.equal([true, 5_000, 200]);
    });
  });
});

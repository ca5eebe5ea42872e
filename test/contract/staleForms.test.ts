import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, type HttpBrowser } from '../harness/httpBrowser.ts';
import { createPkce, getRedirectLocation, registerClient, submitConsent } from '../harness/oauthClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

type Fields = Record<string, string>;

const WHOLE_ACCOUNT = { all_scopes: 'on', expires_at: '', limit_period: 'day', all_models: 'on', allowed_ips: '' };

const getProblem = (page: string) => /role="alert"[^>]*>(.*?)<\//s.exec(page)?.[1];
const findKey = async (owner: TestCustomer, uuid: string) =>
  (await owner.requestWithSession('GET', '/api/keys/')).body.data.find((key: any) => key.uuid === uuid);

describe('a form that was opened before another change', () => {
  let service: TestService;
  let customer: TestCustomer;
  let visitor: HttpBrowser;
  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  beforeEach(async () => {
    ({ customer, visitor } = await createVisitor(service, 'studio'));
  });
  after(() => service.stop());

  const at = (path: string) => `${service.baseUrl}${path}`;
  /** Opens a page. @returns a function that sends the form that it has now. */
  async function open(path: string): Promise<(fields: Fields) => ReturnType<HttpBrowser['submitForm']>> {
    const { fields } = findForm((await visitor.request(at(path))).text, path);
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
      expect([status, getProblem(text)]).to.deep.equal([
        400,
        'This API key was changed after you opened the page, so your changes were not saved. The form now shows its present options. Make your changes again.',
      ]);
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
    const present = async () => findForm((await visitor.request(at(path))).text, path).fields['former_limit'];

    it('is rejected with the reason, changes nothing, and shows the present limit, which can then be changed', async () => {
      const submit = await open(path);
      await (await open(path))({ limit_credits: '30', limit_period: 'month' });
      const { status, text } = await submit({ limit_credits: '', limit_period: 'day' });
      expect([status, getProblem(text)]).to.deep.equal([
        400,
        'The spending limit was changed after you opened the page, so your change was not saved. The form now shows the present limit. Make your change again.',
      ]);
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
});

import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

describe('outcomes of forms of the account pages', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0 });
  });
  after(() => service.stop());

  const at = (path: string) => `${service.baseUrl}${path}`;

  /** Submits a form of a page after its session has ended. */
  const postAfterwards = async (path: string, action: string, fields: Record<string, string>) => {
    const { customer, visitor } = await createVisitor(service);
    const form = findForm((await visitor.request(at(path))).text, action);
    await customer.requestWithSession('POST', '/authentication/logout/');
    const answer = await visitor.request(at(action), {
      method: 'POST',
      headers: {
        origin: service.baseUrl,
        referer: at(path),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ ...form.fields, ...fields }).toString(),
    });
    return { customer, visitor, location: answer.headers.get('location') ?? '' };
  };

  it('are shown once, in the title and in a focused notice', async () => {
    const { visitor } = await createVisitor(service);
    const saved = await sendAccountForm(service.baseUrl, visitor, '/account/profile/', { first_name: 'Ada' });
    const address = at(saved.headers.get('location') ?? '');
    const shown = await visitor.request(address);
    expect(shown.text).to.include('<title>Profile saved · genmeter</title>');
    expect(shown.text).to.match(/role="status" tabindex="-1" autofocus[^>]*>Profile saved\.</);
    const reloaded = await visitor.request(address);
    expect(reloaded.text).to.include('<title>Settings · genmeter</title>').and.to.not.include('role="status"');
  });

  it('are not shown for an address that the service did not redirect to', async () => {
    const { customer, visitor } = await createVisitor(service);
    const forged = '/account/billing/?done=plan';
    const returnTo = encodeURIComponent(forged);
    expect((await visitor.request(at(forged))).text).to.not.include('Your plan is active');
    const again = await visitor.request(at(`/sign-in?return_to=${returnTo}`));
    expect(again.headers.get('location')).to.equal('/account/billing/');
    const signedOut = new HttpBrowser();
    const form = findForm((await signedOut.request(at(`/sign-in?return_to=${returnTo}`))).text, '/sign-in');
    const signedIn = await signedOut.submitForm(at('/sign-in'), { ...form.fields, email: customer.email });
    expect(signedIn.headers.get('location')).to.equal('/account/billing/');
    expect((await signedOut.request(at(forged))).text).to.not.include('Your plan is active');
    expect((await visitor.request(at('/account/?checkout=success'))).text).to.not.include('Thank you');
  });

  it('of a form that was not accepted begin the title with "Error"', async () => {
    const { visitor } = await createVisitor(service);
    const made = await sendAccountForm(service.baseUrl, visitor, '/account/keys/', { name: 'new' });
    expect(made.text).to.include('<title>API key created · genmeter</title>');
    const rejected = await sendAccountForm(service.baseUrl, visitor, '/account/keys/', { name: ' ' });
    expect(rejected.text).to.include('<title>Error: API keys · genmeter</title>');
    expect(rejected.text).to.match(/role="alert" tabindex="-1" autofocus/);
  });

  describe('after the session has ended', () => {
    it('lead to a sign-in that says so, and then back to the page of the form with what was entered', async () => {
      const fields = { first_name: 'late', language: 'pt-BR' };
      const { customer, visitor, location } = await postAfterwards('/account/settings/', '/account/profile/', fields);
      const signIn = await visitor.request(at(location));
      expect(signIn.text).to.include('Your session has ended and nothing was changed.');
      const form = findForm(signIn.text, '/sign-in');
      const back = await visitor.submitForm(at('/sign-in'), { ...form.fields, email: customer.email });
      expect(back.headers.get('location')).to.equal('/account/settings/');
      const page = await visitor.request(at('/account/settings/'));
      expect(page.text)
        .to.include('value="late"')
        .and.to.match(/<option value="pt-BR" selected[^>]*>/);
      const { user } = JSON.parse((await visitor.request(at('/authentication/me/'))).text);
      expect(user).to.include({ first_name: '', language: 'en' });
    });

    it('are complete if the form was to sign out', async () => {
      const { visitor, location } = await postAfterwards('/account/', '/account/sign-out/', {});
      expect(location).to.equal('/sign-in?done=signed-out');
      expect((await visitor.request(at(location))).text).to.include('You are signed out.');
    });
  });
});

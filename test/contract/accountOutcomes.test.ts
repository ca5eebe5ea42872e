import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { useTestService } from '../harness/testService.ts';

describe('outcomes of forms of the account pages', () => {
  const service = useTestService({ workers: 0 });

  const at = (path: string) => `${service.baseUrl}${path}`;

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

  it('are complete after the session has ended if the form was to sign out', async () => {
    const { customer, visitor } = await createVisitor(service);
    const { fields } = findForm((await visitor.request(at('/account/'))).text, '/account/sign-out/');
    await customer.requestWithSession('POST', '/authentication/logout/');
    const answer = await visitor.submitForm(at('/account/sign-out/'), fields);
    expect(answer.headers.get('location')).to.equal('/sign-in?done=signed-out');
    expect((await visitor.request(at('/sign-in?done=signed-out'))).text).to.include('You are signed out.');
  });
});

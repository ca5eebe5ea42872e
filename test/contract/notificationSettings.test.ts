import { expect } from 'chai';
import { EMAIL_KINDS, SECURITY_EMAIL_KINDS } from '../../shared/spec/events.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { useTestService } from '../harness/testService.ts';

const SETTINGS = '/api/notifications/settings/';
const PAGE = '/account/notifications/';

describe('notification settings', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  beforeEach(async () => {
    customer = await service.createCustomer('pro');
  });

  const read = async () => (await customer.request('GET', SETTINGS)).body;
  const patch = (body: unknown) => customer.request('PATCH', SETTINGS, { body });
  const allOn = Object.fromEntries(EMAIL_KINDS.map((kind) => [kind, true]));

  it('all kinds are on at first, and the threshold is the default', async () => {
    expect(await read()).to.deep.equal({ email: allOn, credits_low_threshold: null });
  });

  it('a change keeps what it omits, and the response is the new state', async () => {
    expect((await patch({ email: { payout_sent: false } })).body.email).to.deep.equal({ ...allOn, payout_sent: false });
    expect((await patch({ credits_low_threshold: 250 })).status).to.equal(200);
    expect((await patch({ email: { credits_low: false, payout_sent: true } })).body).to.deep.equal({
      email: { ...allOn, credits_low: false },
      credits_low_threshold: 250,
    });
    expect((await patch({})).body).to.deep.equal(await read());
    expect((await patch({ credits_low_threshold: null })).body.credits_low_threshold).to.equal(null);
  });

  it('the whole response can be sent back', async () => {
    const settings = await read();
    expect((await patch(settings)).body).to.deep.equal(settings);
  });

  it('messages about security cannot be switched off, and nothing else of that request is changed', async () => {
    for (const kind of SECURITY_EMAIL_KINDS) {
      const answer = await patch({ email: { payout_sent: false, [kind]: false } });
      expectError(answer, 'validation_error', `email.${kind}`);
      expect(answer.body.detail).to.include('always sent');
    }
    expect((await read()).email).to.deep.equal(allOn);
  });

  it('invalid fields are rejected by name', async () => {
    const cases: [string, unknown][] = [
      ['email', { email: [] }],
      ['email.payout_sent', { email: { payout_sent: 'off' } }],
      ['email.payout_sent', { email: { payout_sent: null } }],
      ['email.newsletter', { email: { newsletter: true } }],
      ['credits_low_threshold', { credits_low_threshold: -1 }],
      ['credits_low_threshold', { credits_low_threshold: 1.5 }],
      ['credits_low_threshold', { credits_low_threshold: '5' }],
      ['credits_low_threshold', { credits_low_threshold: 1_000_000_001 }],
      ['threshold', { threshold: 5 }],
    ];
    for (const [field, body] of cases) expectError(await patch(body), 'validation_error', field);
    expect(await read()).to.deep.equal({ email: allOn, credits_low_threshold: null });
  });

  it('a threshold that the balance has reached ends the time of low credits', async () => {
    const setLow = () =>
      service.sql('UPDATE accounts SET credits_low_since = now() WHERE email = $1', [customer.email]);
    const isLow = async () => {
      const [row] = await service.sql('SELECT credits_low_since FROM accounts WHERE email = $1', [customer.email]);
      return row.credits_low_since !== null;
    };
    const balance = await customer.balance();
    await patch({ credits_low_threshold: balance + 1 });
    await setLow();
    expect(await isLow()).to.equal(true);
    await patch({ email: { credits_low: true } });
    expect(await isLow()).to.equal(true);
    await patch({ credits_low_threshold: balance });
    expect(await isLow()).to.equal(false);
    await patch({ credits_low_threshold: balance + 1 });
    await setLow();
    await patch({ credits_low_threshold: null });
    expect(await isLow()).to.equal(false);
  });

  const open = async () => {
    const visitor = createBrowserFor(customer);
    const page = await visitor.request(service.baseUrl + PAGE);
    const save = (fields: Record<string, string>) => {
      const { csrf_token: token = '' } = findForm(page.text, PAGE).fields;
      return visitor.submitForm(service.baseUrl + PAGE, { csrf_token: token, ...fields });
    };
    return { visitor, page, save };
  };

  describe('on the page', () => {
    it('each kind that can be switched off has a labelled switch, and the settings page links to it', async () => {
      const { visitor, page } = await open();
      expect(page.text.match(/type="checkbox"/g)).to.have.length(EMAIL_KINDS.length - SECURITY_EMAIL_KINDS.length);
      expect(page.text).to.include('Messages about security are always sent').and.include('At present 110.');
      expect(page.text).to.include('does not send e-mail at present');
      expect((await visitor.request(`${service.baseUrl}/account/settings/`)).text).to.include(`href="${PAGE}"`);
    });

    it('saves the switches and the threshold, and shows the outcome', async () => {
      const { visitor, save } = await open();
      const answer = await save({ credits_low: 'on', webhook_disabled: 'on', threshold: '42' });
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `${PAGE}?done=saved`]);
      const shown = await visitor.request(`${service.baseUrl}${PAGE}?done=saved`);
      expect(shown.text).to.include('Notifications saved.').and.include('value="42"');
      const { email, credits_low_threshold: threshold } = await read();
      expect(threshold).to.equal(42);
      const on = Object.entries(email).filter(([, isOn]) => isOn);
      expect(on.map(([kind]) => kind)).to.have.members(['credits_low', 'webhook_disabled', ...SECURITY_EMAIL_KINDS]);
      await save({ threshold: '' });
      expect((await read()).credits_low_threshold).to.equal(null);
    });

    it('rejects a threshold that is not a number, and changes nothing', async () => {
      const { save } = await open();
      const answer = await save({ threshold: '-5' });
      expect([answer.status, answer.text.includes('must be a whole number of credits')]).to.deep.equal([400, true]);
      expect((await read()).email).to.deep.equal(allOn);
    });
  });
});

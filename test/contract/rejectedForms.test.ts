import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import { findForm, type HttpBrowser } from '../harness/httpBrowser.ts';
import { useTestService } from '../harness/testService.ts';

describe('a form that is not accepted', () => {
  const service = useTestService({ workers: 0 });
  let visitor: HttpBrowser;
  before(async () => {
    ({ visitor } = await createVisitor(service, 'pro'));
  });

  /** Sends a form of a page with these fields. @returns the page that follows. */
  async function send(page: string, action: string, entered: Record<string, string>): Promise<string> {
    const address = `${service.baseUrl}${page}`;
    const { fields } = findForm((await visitor.request(address)).text, action);
    const { status, text } = await visitor.submitForm(`${service.baseUrl}${action}`, { ...fields, ...entered });
    expect(status).to.equal(400);
    return text;
  }

  for (const [page, action, entered, field] of [
    ['/account/billing/', '/account/billing/topup/', { preset: 'other', amount: '1' }, 'amount'],
    ['/account/billing/', '/account/billing/auto-topup/', { threshold: 'many', amount: '70' }, 'threshold'],
    [
      '/account/webhooks/',
      '/account/webhooks/',
      { url: 'not an address', description: 'Mine', all_events: 'on' },
      'url',
    ],
    ['/account/keys/', '/account/keys/', { name: 'my key', limit_credits: 'many' }, 'limit_credits'],
    ['/account/notifications/', '/account/notifications/', { threshold: '1.000' }, 'threshold'],
    ['/account/billing/', '/account/gift-codes/redeem/', { code: 'GIFT-0000' }, 'code'],
  ] as const) {
    it(`shows the message at the field ${field} of ${action}, links to it, and keeps what was entered`, async () => {
      const text = await send(page, action, entered);
      expect(text.split(' id="field-error"')).to.have.length(2);
      expect(text).to.match(/<div class="notice bad"[^>]*><a href="#field-error">/);
      const control = new RegExp(`<input[^>]* name="${field}"[^>]*>`).exec(
        text.slice(text.indexOf('field-error" tab')),
      )?.[0];
      expect(control).to.include('aria-invalid="true"').and.include('aria-describedby="field-error');
      for (const value of Object.values(entered).filter((kept) => kept !== 'other'))
        expect(text).to.include(`value="${value}"`);
      expect(text.match(/aria-invalid="true"/g)).to.have.length(1);
    });
  }

  it('keeps the choice of another amount', async () => {
    const text = await send('/account/billing/', '/account/billing/topup/', { preset: 'other', amount: '1' });
    expect(text).to.match(/<input type="radio" name="preset" value="other" checked/);
  });

  it('keeps check boxes as they were, so that a correction does not switch automatic top-ups on or off', async () => {
    const action = '/account/billing/auto-topup/';
    const checked = 'name="enabled" value="on" checked';
    expect(await send('/account/billing/', action, { enabled: 'on', amount: 'x' })).to.include(checked);
    expect(await send('/account/billing/', action, { amount: 'x' })).to.not.include(checked);
    const notifications = '/account/notifications/';
    const text = await send(notifications, notifications, { threshold: 'x', credits_low: 'on' });
    const shown = [...text.matchAll(/type="checkbox" name="(\w+)" value="on"( checked)?/g)];
    expect(shown.filter(([, , mark]) => mark !== undefined).map(([, name]) => name)).to.deep.equal(['credits_low']);
  });

  it('has no link if its field is not a control', async () => {
    const text = await send('/account/billing/', '/account/plan/', { plan: 'unknown' });
    expect(text).to.include('<div class="notice bad"').and.not.include('field-error');
  });
});

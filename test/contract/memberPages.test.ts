import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor, findForm, type HttpPage } from '../harness/httpBrowser.ts';
import { accept, addMember, findListed, handOver, invite, withKey } from '../harness/members.ts';
import { createPkce, registerClient } from '../harness/oauthClient.ts';
import { useTestService } from '../harness/testService.ts';

describe('the pages about members', () => {
  const service = useTestService({ workers: 0 });

  const open = (person: TestCustomer, path: string): Promise<HttpPage> =>
    createBrowserFor(person).request(service.baseUrl + path);

  /** Submits the form of a page. @returns the response, and the page that it redirects to. */
  async function submit(
    person: TestCustomer,
    path: string,
    fields: Record<string, string> = {},
    page = path,
  ): Promise<{ status: number; next: HttpPage }> {
    const visitor = createBrowserFor(person);
    const form = findForm((await visitor.request(service.baseUrl + page)).text, path);
    const sent = await visitor.submitForm(service.baseUrl + path, { ...form.fields, ...fields });
    const location = sent.headers.get('location');
    return {
      status: sent.status,
      next: location === null ? sent : await visitor.request(new URL(location, service.baseUrl)),
    };
  }

  it('list members with their roles, and invite, send again and revoke', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'developer');
    const { text } = await open(owner, '/account/members/');
    expect(text).to.include(owner.email).and.include(member.email).and.include('Developer').and.include('Owner');
    const { status, next } = await submit(owner, '/account/members/', { email: 'new@example.com', role: 'billing' });
    expect(status).to.equal(303);
    expect(next.text).to.include('The invitation was sent.').and.include('new@example.com');
    const [, path = ''] = /href="(\/account\/members\/invitations\/[\w-]+\/)resend\/"/.exec(next.text) ?? [];
    expect((await submit(owner, `${path}resend/`)).next.text).to.include('The invitation was sent.');
    expect((await submit(owner, `${path}revoke/`)).next.text)
      .to.include('Its link no longer works.')
      .and.not.include('new@example.com');
  });

  it('list all invitations, on pages of their own', async () => {
    const owner = await service.createCustomer(null);
    await service.sql(
      `INSERT INTO invitations (uuid, account_id, email, role, invited_by, created_at, expires_at)
       SELECT gen_random_uuid(), a.id, 'guest' || n || '@example.com', 'viewer', 1,
              now() - n * interval '1 minute', now() + interval '7 days'
         FROM accounts a, generate_series(1, 21) n WHERE a.email = $1`,
      [owner.email],
    );
    const first = await open(owner, '/account/members/');
    expect(first.text).to.include('guest20@example.com').and.not.include('guest21@example.com');
    const [, next = ''] = /href="([^"]+)#invitations" rel="next"/.exec(first.text) ?? [];
    const second = await open(owner, next);
    expect(second.text).to.include('guest21@example.com').and.not.include('guest20@example.com');
    expect(second.text).to.include(`${owner.email} <span class="tag">Owner`);
  });

  it('show the usage of all members, on pages that keep the period', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'viewer');
    await service.sql(
      `INSERT INTO members (account_id, number, uuid, person_id, role, created_at, removed_at)
       SELECT m.account_id, m.number + n, gen_random_uuid(), m.person_id, 'viewer', now(), now()
         FROM members m JOIN people p ON p.id = m.person_id, generate_series(1, 19) n
        WHERE p.email = $1 AND m.number = 2`,
      [member.email],
    );
    await service.sql('UPDATE accounts SET member_count = 21 WHERE email = $1', [owner.email]);
    const first = await open(owner, '/account/usage/?days=7');
    expect(first.text).to.include(`row">${member.email}`).and.not.include(`row">${owner.email}`);
    const [, next = ''] = /href="([^"]+)#by-member" rel="next"/.exec(first.text) ?? [];
    const second = await open(owner, next.replaceAll('&amp;', '&'));
    expect(second.text).to.include(`row">${owner.email}`).and.not.include(`row">${member.email}`);
    expect(second.text).to.match(/days=7" aria-current="page"/);
  });

  it('show at its field why an address is not invited, with what was entered', async () => {
    const owner = await service.createCustomer(null);
    const { status, next } = await submit(owner, '/account/members/', { email: owner.email, role: 'viewer' });
    expect(status).to.equal(400);
    expect(next.text).to.include('This person is a member already').and.include(`value="${owner.email}"`);
  });

  it('change the role and the limit of a member, and remove it with a confirmation', async () => {
    const owner = await service.createCustomer('pro');
    const member = await withKey(await addMember(owner, 'developer'));
    const { uuid } = await findListed(owner, member);
    const path = `/account/members/${uuid}/`;
    const saved = await submit(owner, path, { role: 'viewer', limit_credits: '50', limit_period: 'month' });
    expect(saved.next.text).to.include('The member was changed.').and.include('0 of 50 credits a month are used');
    expect(await findListed(owner, member)).to.deep.include({
      role: 'viewer',
      credit_limit: { credits: 50, period: 'month' },
    });
    const question = await open(owner, `${path}remove/`);
    expect(question.text).to.include(`Remove ${member.email}?`).and.include('1 API key, 0 applications');
    expect((await submit(owner, `${path}remove/`)).next.text)
      .to.include('The member was removed')
      .and.include('Former');
    // Keys of a former member can still be revoked.
    expect((await open(owner, path)).text)
      .to.include('Revoke keys and applications')
      .and.not.include('remove/"');
    expect((await submit(owner, `${path}revoke-access/`)).next.text).to.include('were revoked');
    expect((await findListed(owner, member)).api_keys).to.equal(0);
  });

  it('hand the account over, and let a member leave', async () => {
    const owner = await service.createCustomer(null);
    const heir = await addMember(owner, 'viewer');
    const { uuid } = await findListed(owner, heir);
    const { next } = await submit(owner, `/account/members/${uuid}/hand-over/`);
    expect(next.text).to.include('You are an admin.');
    expect((await open(owner, '/account/members/')).text).to.include('Leave this account');
    const left = await submit(owner, '/account/members/leave/');
    expect(left.next.url.pathname).to.equal('/sign-in');
    // A person without an account is erased.
    expect(await findListed(heir, owner)).to.equal(undefined);
    const { body } = await heir.requestWithSession('GET', '/api/members/');
    expect(body.data.map((member: any) => member.removed_at !== null)).to.deep.equal([false, true]);
  });

  it('have a choice of the account in the header for a person with several, and for no other', async () => {
    const owner = await service.createCustomer('pro');
    const member = await addMember(owner, 'viewer');
    expect((await open(owner, '/account/')).text).to.not.include('action="/account/switch/"');
    const { text } = await open(member, '/account/');
    expect(text).to.include('action="/account/switch/"').and.include(owner.email);
    const [, own = ''] = new RegExp(`value="([\\w-]{36})"[^>]*>${member.email}`).exec(text) ?? [];
    const { status } = await submit(member, '/account/switch/', { switch_to: own }, '/account/');
    expect(status).to.equal(303);
    const { body } = await member.requestWithSession('GET', '/authentication/accounts/');
    expect(body.accounts.map((account: any) => account.is_current)).to.deep.equal([true, false]);
  });

  it('name several accounts of one owner by plan, balance and date of creation', async () => {
    const owner = await service.createCustomer('pro');
    const heir = await service.createCustomer(null);
    await service.sql(`UPDATE accounts SET created_at = '2026-03-05' WHERE email = $1`, [heir.email]);
    await service.sql(`UPDATE accounts SET created_at = '2025-11-22' WHERE email = $1`, [owner.email]);
    expect((await open(heir, '/account/delete/')).text).to.include(`<strong>${heir.email}</strong>`);
    await handOver(owner, heir);
    const [own, received] = [
      `${heir.email} (no plan, 0 credits, created 5 Mar 2026)`,
      `${heir.email} (Pro, 1,100 credits, created 22 Nov 2025)`,
    ];
    const { text } = await open(heir, '/account/');
    expect(text).to.include(`>${own}</option>`).and.include(`>${received}</option>`);
    expect((await open(heir, '/account/delete/')).text).to.include(`<strong>${received}</strong>`);
    const consent = await open(heir, (await registerClient(service.baseUrl)).authorizePath(createPkce().challenge));
    expect(consent.text).to.include(`<strong>${received}</strong>`);
  });

  it('of an account that is being deleted say so to members, who can switch and sign out', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'viewer');
    expect((await open(member, '/account/delete/')).headers.get('location')).to.equal('/account/');
    expect((await submit(owner, '/account/delete/', { email: owner.email })).status).to.equal(303);
    const visitor = createBrowserFor(member);
    await visitor.submitForm(`${service.baseUrl}/sign-in`, { email: member.email });
    const switchTo = async (page: string, { email }: TestCustomer) => {
      const { text } = await visitor.request(service.baseUrl + page);
      const [, uuid = ''] = new RegExp(`value="([\\w-]{36})"[^>]*>${email}`).exec(text) ?? [];
      const { fields } = findForm(text, '/account/switch/');
      await visitor.submitForm(`${service.baseUrl}/account/switch/`, { ...fields, switch_to: uuid });
      return visitor.request(`${service.baseUrl}/account/`);
    };
    const entered = await switchTo('/account/', owner);
    expect([entered.status, entered.headers.get('location')]).to.deep.equal([303, '/account/delete/']);
    const { status, text } = await visitor.request(`${service.baseUrl}/account/delete/`);
    expect([status, text.includes('The owner requested the deletion on')]).to.deep.equal([200, true]);
    expect(text)
      .to.include(`<strong>${owner.email}</strong>`)
      .and.not.match(/delete\/undo|account\/export/);
    expect((await switchTo('/account/delete/', member)).status).to.equal(200);
  });

  it('let a person whose only account is being deleted by its owner sign out', async () => {
    const owner = await service.createCustomer(null);
    const heir = await addMember(owner, 'viewer');
    const { uuid } = await findListed(owner, heir);
    await submit(owner, `/account/members/${uuid}/hand-over/`);
    const visitor = createBrowserFor(heir);
    const form = findForm((await visitor.request(`${service.baseUrl}/account/delete/`)).text, '/account/delete/');
    await visitor.submitForm(`${service.baseUrl}/account/delete/`, { ...form.fields, email: heir.email });
    const former = createBrowserFor(owner);
    await former.submitForm(`${service.baseUrl}/sign-in`, { email: owner.email });
    const { text } = await former.request(`${service.baseUrl}/account/delete/`);
    expect(text).to.include('The owner requested the deletion on').and.not.include('action="/account/switch/"');
    const { fields } = findForm(text, '/account/sign-out/');
    const { headers } = await former.submitForm(`${service.baseUrl}/account/sign-out/`, fields);
    expect(headers.get('location')).to.equal('/sign-in?done=signed-out');
  });

  it('that were opened before the person switched to another account change nothing there', async () => {
    const owner = await service.createCustomer(null);
    const admin = await addMember(owner, 'admin');
    const visitor = createBrowserFor(admin);
    const { text } = await visitor.request(`${service.baseUrl}/account/members/`);
    const { fields } = findForm(text, '/account/members/');
    const { body } = await admin.requestWithSession('GET', '/authentication/accounts/');
    await admin.requestWithSession('POST', `/authentication/accounts/${body.accounts[0].uuid}/switch/`);
    const form = { ...fields, email: 'guest@example.com', role: 'admin' };
    const sent = await visitor.submitForm(`${service.baseUrl}/account/members/`, form);
    expect(sent.status).to.equal(403);
    expect(sent.text).to.include('out of date');
    expect((await admin.requestWithSession('GET', '/api/invitations/')).body.data).to.deep.equal([]);
  });

  it('ask before an invitation is accepted, and say to a person with another address why not', async () => {
    const owner = await service.createCustomer(null);
    const invited = await service.createCustomer(null);
    const path = await invite(owner, invited, 'admin');
    const { text } = await open(invited, path);
    expect(text).to.include(`Join the account of ${owner.email}?`).and.include('Your role will be: Admin.');
    const stranger = await service.createCustomer(null);
    const refused = await open(stranger, path);
    expect(refused.status).to.equal(403);
    expect(refused.text).to.include('Sign in with the address that it was sent to').and.not.include(invited.email);
    expect(await accept(invited, path)).to.equal(303);
    // Without a session, the link leads to the sign-in and back.
    const visitor = await fetch(service.baseUrl + path, { redirect: 'manual' });
    expect(visitor.headers.get('location')).to.include(encodeURIComponent(path));
  });
});

import { expect } from 'chai';
import {
  ASSIGNABLE_ROLES,
  hasRight,
  MEMBER_ROLES,
  type MemberRight,
  type MemberRole,
} from '../../shared/spec/roles.ts';
import { type ApiResponse, IMAGE, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { addMember, findListed, withKey } from '../harness/members.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { ALL_ROUTES, buildPath, isChange, ROUTES, VALID_BODIES } from '../harness/routes.ts';
import { getAccountId } from '../harness/outbox.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

/** Routes after which the session of the member cannot make the other requests. */
const ENDS_SESSION = /\/(logout|sign-out|leave|end-others)\/$/;

const MEMBER_ROUTES = ROUTES.filter(({ served }) => served.needs !== undefined);

/** Finds the right that the address of a link or a form requires. */
function findNeeds(method: string, address: string): MemberRight | undefined {
  const uuid = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
  const path = address
    .replace(uuid, ':uuid')
    .replace(/\/identities\/(google|apple|github)\//, '/identities/:provider/');
  return MEMBER_ROUTES.find((route) => route.method === method && route.path === path)?.served.needs;
}

const changeKey = (by: TestCustomer, uuid: string, body: object) =>
  by.requestWithSession('PATCH', `/api/keys/${uuid}/`, { body });

describe('roles of members', () => {
  let service: TestService;
  const members = new Map<MemberRole, TestCustomer>();
  before(async () => {
    // The matrix is larger than the limit of an account.
    service = await startTestService({
      workers: 0,
      env: { RATE_LIMITS: 'off' },
    });
    await setAllModelsOnline(service);
    const owner = await service.createCustomer('studio');
    members.set('owner', owner);
    for (const role of MEMBER_ROLES) if (role !== 'owner') members.set(role, await addMember(owner, role));
  });
  after(() => service.stop());

  const getMember = (role: MemberRole) => members.get(role) as TestCustomer;

  it('every route for signed-in people or keys names a right or a permission', () => {
    const unnamed = ALL_ROUTES.filter(
      ({ served: { credential, surface, needs, permission } }) =>
        surface !== 'mcp' && (credential === 'session' || credential === 'account') && needs === permission,
    );
    expect(unnamed.map(({ name }) => name)).to.deep.equal([]);
    expect(MEMBER_ROUTES.length).to.be.above(100);
  });

  for (const role of ASSIGNABLE_ROLES) {
    it(`the charge decides by the table about a create of a member who becomes ${role} while it waits`, async () => {
      const member = getMember('developer');
      const id = await getAccountId(service, getMember('owner'));
      const assign = `UPDATE members SET role = $2 WHERE account_id = $1
                        AND person_id = (SELECT id FROM people WHERE email = $3)`;
      let created: Promise<ApiResponse> | undefined;
      await whileAccountIsLocked(service, id, async (holder) => {
        const body = { ...IMAGE, prompt: 'a lighthouse' };
        created = member.requestWithSession('POST', '/api/generations/create/', { body });
        await waitForLockWaits(service);
        await holder.query(assign, [id, role, member.email]);
      });
      expect((await created)?.status).to.equal(hasRight(role, 'createGenerations') ? 201 : 403);
      await service.sql(assign, [id, 'developer', member.email]);
    });
  }

  for (const role of MEMBER_ROLES) {
    it(`every route admits or rejects the role ${role} by the table`, async () => {
      const member = getMember(role);
      const visitor = createBrowserFor(member);
      const { text: page } = await visitor.request(`${service.baseUrl}/account/settings/`);
      const { fields } = findForm(page, '/account/profile/');
      for (const route of MEMBER_ROUTES) {
        const { name, method, served } = route;
        const isAllowed = hasRight(role, served.needs as MemberRight);
        if (isAllowed && ENDS_SESSION.test(route.path)) continue;
        const path = buildPath(route);
        if (served.surface === 'page') {
          const { status, text } = isChange(route)
            ? await visitor.submitForm(service.baseUrl + path, fields)
            : await visitor.request(service.baseUrl + path);
          expect(status === 403, `${name} returned ${status}`).to.equal(!isAllowed);
          if (!isAllowed) expect(text).to.include(`Your role in this account is ${role}.`);
          continue;
        }
        const body = VALID_BODIES[name];
        const response = await member.requestWithSession(method, path, body === undefined ? {} : { body });
        if (isAllowed) expect(response.status, `${name} ${JSON.stringify(response.body)}`).to.not.equal(403);
        else expectError(response, 'insufficient_scope', `Your role in this account is ${role}.`);
      }
    });

    it(`the pages of the role ${role} have only links and forms that it may use`, async () => {
      const visitor = createBrowserFor(getMember(role));
      const seen = new Set<string>();
      const queue = ['/account/'];
      while (queue.length > 0) {
        const path = queue.pop() as string;
        if (seen.has(path)) continue;
        seen.add(path);
        const { status, text } = await visitor.request(service.baseUrl + path);
        expect(status, path).to.equal(200);
        const content = text.split('<main')[1] ?? text;
        const addresses = [...text.matchAll(/(href|action)="(\/account\/[^"?#]*)/g)];
        for (const [, kind, address = ''] of addresses) {
          const method = kind === 'href' ? 'GET' : 'POST';
          const needs = findNeeds(method, address);
          expect(needs === undefined || hasRight(role, needs), `${method} ${address} on ${path}`).to.equal(true);
          if (method === 'GET' && /^\/account\/[a-z-]+\/$/.test(address)) queue.push(address);
        }
        expect(content).to.not.equal('');
      }
      expect(seen.size).to.be.above(3);
    });
  }

  it('a key has the role of the member who created it, as it is at each request', async () => {
    const owner = await service.createCustomer('studio');
    const developer = await withKey(await addMember(owner, 'developer'));
    await developer.createImage();
    expectError(await developer.request('GET', '/api/billing/invoices/'), 'insufficient_scope', 'is developer.');
    const { uuid } = await findListed(owner, developer);
    await owner.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'viewer' } });
    const image = { model: 'imgmodel-2', params: { resolution: '1K' } };
    expectError(await developer.createGeneration(image), 'insufficient_scope', 'is viewer.');
    expect((await developer.request('GET', '/api/generations/')).status).to.equal(200);
    await owner.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'admin' } });
    await developer.createImage();
    expect((await developer.request('GET', '/api/billing/invoices/')).status).to.equal(200);
  });

  it('a member changes no key that acts with rights which its role lacks, and can revoke it', async () => {
    const owner = await service.createCustomer('studio');
    const developer = await addMember(owner, 'developer');
    const options = { scopes: ['svc:read', 'svc:write'], credit_limit: { credits: 8, period: 'month' } };
    const { uuid } = await createRestrictedKey(service, owner, options);
    for (const lifted of [{ scopes: null }, { credit_limit: null }])
      expectError(await changeKey(developer, uuid, lifted), 'insufficient_scope', 'acts with the role owner');
    const { body } = await owner.requestWithSession('GET', '/api/keys/');
    expect(body.data.find((key: { uuid: string }) => key.uuid === uuid)).to.deep.include(options);
    const own = await createRestrictedKey(service, developer, options);
    expect((await changeKey(developer, own.uuid, { credit_limit: null })).status).to.equal(200);
    expect((await changeKey(owner, own.uuid, { scopes: null })).status).to.equal(200);
    expect((await developer.requestWithSession('POST', `/api/keys/${uuid}/revoke/`)).status).to.equal(200);
  });

  it('MCP tools obey the role of the member whose credential it is', async () => {
    const owner = await service.createCustomer('studio');
    const member = await withKey(await addMember(owner, 'developer'));
    const { uuid } = await findListed(owner, member);
    await owner.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'billing' } });
    const headers = await openMcpSession(member);
    const call = async (name: string, input: object) =>
      (await postMcp(member, buildToolCall(name, input), { headers })).body.result;
    const created = await call('generate_image', { prompt: 'a lighthouse', resolution: '1K' });
    expect(created.structuredContent.error).to.equal('insufficient_scope');
    expect((await call('list_library', {})).structuredContent.error).to.equal('insufficient_scope');
    expect((await call('get_usage', {})).isError).to.equal(undefined);
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { hasPermission, STAFF_ROLES, type StaffPermission, type StaffRole } from '../../shared/spec/staff.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { addMember } from '../harness/members.ts';
import { ALL_ROUTES } from '../harness/routes.ts';
import { StaffConsole } from '../harness/staffConsole.ts';
import { useTestService } from '../harness/testService.ts';

const STAFF_ROUTES = ALL_ROUTES.filter(({ path }) => /^\/(?:api\/)?admin\//.test(path));
const STAFF_PAGES = STAFF_ROUTES.filter(({ served }) => served.surface !== 'rest');

describe('staff roles', () => {
  const console = new StaffConsole();
  /** CSRF tokens of the sessions. */
  const tokens = new Map<StaffRole, string>();
  const service = useTestService({ workers: 0, env: { STAFF_EMAILS: console.staffEmails } });
  before(async () => {
    await console.open(service);
    for (const role of STAFF_ROLES) {
      const { text } = await console.visit('/admin/', role);
      tokens.set(role, /name="csrf_token" value="([^"]+)"/.exec(text)?.[1] ?? '');
    }
  });

  it('every staff route has a permission', () => {
    expect(STAFF_ROUTES.length).to.be.above(25);
    for (const { name, served } of STAFF_ROUTES) expect(served.permission, name).to.be.a('string');
  });

  for (const role of STAFF_ROLES) {
    for (const { name, method, path, served } of STAFF_PAGES) {
      const isAllowed = hasPermission(role, served.permission as StaffPermission);
      it(`${name} ${isAllowed ? 'admits' : 'rejects'} the role ${role}`, async () => {
        const address = `${service.baseUrl}${path.replace(':uuid', randomUUID()).replace(/\*$/, '')}`;
        const visitor = createBrowserFor(console.member(role));
        const { status, text, headers } =
          method === 'POST'
            ? await visitor.submitForm(address, { csrf_token: tokens.get(role) ?? '' })
            : await visitor.request(address, { headers: { accept: 'text/html' } });
        expect(status === 403).to.equal(!isAllowed);
        if (isAllowed) return;
        expect(text).to.include('This requires one of the roles').and.to.include(`Your role is ${role}.`);
        // Scripts of the queue board read JSON; people get a page.
        const isCall = path.startsWith('/admin/queues/api/');
        expect(headers.get('content-type')).to.include(isCall ? 'application/json' : 'text/html');
      });
    }

    it(`the navigation of the role ${role} contains exactly the pages that it may open`, async () => {
      const { text } = await console.visit('/admin/', role);
      const links = [...(text.split('aria-label="Staff"')[1] ?? '').split('</nav>')[0]!.matchAll(/href="([^"]+)"/g)];
      const paths = links.map(([, path]) => path as string);
      expect(paths).to.include('/admin/').and.to.include('/admin/accounts/');
      expect(paths.includes('/admin/queues')).to.equal(hasPermission(role, 'manageQueues'));
      expect(paths.includes('/admin/audit/')).to.equal(hasPermission(role, 'viewAuditLog'));
      expect(paths.includes('/admin/reports/')).to.equal(hasPermission(role, 'viewReports'));
      for (const path of paths) expect((await console.visit(path, role)).status, path).to.equal(200);
      expect(text).to.include(`${console.email(role)}<span>Role ${role}</span>`);
    });
  }

  it('an account page offers only the actions of the role', async () => {
    const customer = await service.createCustomer('pro');
    await addMember(customer, 'viewer');
    const [{ uuid }] = await service.sql('SELECT uuid FROM accounts WHERE email = $1', [customer.email]);
    const path = `/admin/accounts/${uuid}/`;
    for (const role of STAFF_ROLES) {
      const { text } = await console.visit(path, role);
      for (const [action, permission] of [
        ['adjust', 'adjustCredits'],
        ['suspend', 'suspendAccounts'],
        ['sign-out', 'revokeAccess'],
        ['revoke-access', 'revokeAccess'],
      ] as const)
        expect(text.includes(`href="${path}${action}/"`), `${role} ${action}`).to.equal(
          hasPermission(role, permission),
        );
      expect(text.includes('/admin/members/')).to.equal(hasPermission(role, 'revokeAccess'));
      expect(text.includes('/revoke/')).to.equal(hasPermission(role, 'revokeAccess'));
      expect(text.includes('<h2 id="audit">')).to.equal(hasPermission(role, 'viewAuditLog'));
    }
  });
});

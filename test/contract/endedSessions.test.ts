import { expect } from 'chai';
import type { Actor } from '../../shared/domain/audit/recordAuditEntry.ts';
import { countActiveAccess } from '../../shared/domain/signIn/revokeAccess.ts';
import { revokeAccountAccess, signOutAccount } from '../../shared/domain/staff/accessActions.ts';
import { reinstateAccount, suspendAccount } from '../../shared/domain/staff/suspension.ts';
import { sendAccountForm } from '../harness/accountForms.ts';
import { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor } from '../harness/httpBrowser.ts';
import { accept, invite } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { readAudit } from '../harness/staffConsole.ts';
import { useTestService } from '../harness/testService.ts';

const ACTOR: Actor = { kind: 'system', systemUser: 'test', reason: 'a stolen cookie' };

/** Ends of all sessions of an account by staff. */
const ENDS: readonly [name: string, action: string, end: (accountId: number) => Promise<unknown>][] = [
  ['is signed out everywhere', 'account.sign_out', (id) => signOutAccount(id, ACTOR)],
  ['loses all access', 'account.revoke_access', (id) => revokeAccountAccess(id, ACTOR)],
  [
    'is suspended and reinstated',
    'account.suspend',
    async (id) => {
      await suspendAccount(id, ACTOR);
      await reinstateAccount(id, ACTOR);
    },
  ],
];

const findUuid = async (person: TestCustomer, email: string) => {
  const { body } = await person.requestWithSession('GET', '/authentication/accounts/');
  return body.accounts.find((account: { email: string }) => account.email === email).uuid as string;
};
const switchTo = async (person: TestCustomer, email: string) =>
  person.requestWithSession('POST', `/authentication/accounts/${await findUuid(person, email)}/switch/`);

describe('a session that acts on another account meanwhile', () => {
  const service = useTestService({ workers: 0 });

  async function signInAgain({ email, baseUrl, key }: TestCustomer): Promise<TestCustomer> {
    const { headers } = await service.request('POST', '/authentication/dev/sign-in/', { body: { email } });
    return new TestCustomer(baseUrl, email, headers.getSetCookie()[0]?.split(';')[0] ?? '', key);
  }

  /** Creates a customer whose session acts on the account of another, of which it is a member. */
  async function createAbsent(): Promise<{ owner: TestCustomer; id: number; other: TestCustomer }> {
    const [owner, other] = [await service.createCustomer(null), await service.createCustomer(null)];
    expect(await accept(owner, await invite(other, owner, 'viewer'))).to.equal(303);
    return { owner, id: await getAccountId(service, owner), other };
  }

  for (const [name, action, end] of ENDS)
    it(`cannot return to an account that ${name}, unlike one that is opened later`, async () => {
      const { owner, id, other } = await createAbsent();
      expect((await countActiveAccess(id)).sessions).to.equal(1);
      await end(id);
      expectError(await switchTo(owner, owner.email), 'insufficient_scope', 'sign in again');
      expect((await owner.requestWithSession('GET', '/api/usage/summary/')).status).to.equal(200);
      expect((await switchTo(owner, other.email)).status).to.equal(204);
      const { text } = await sendSwitch(owner);
      expect(text).to.include('older than the end of all sessions of that account');
      const entries = await readAudit(service, owner);
      expect(entries.find((entry) => entry.action === action).before.sessions).to.equal(1);
      expect((await countActiveAccess(id)).sessions).to.equal(0);
      expect(await signOutAccount(id, ACTOR)).to.equal(0);
      const again = await signInAgain(owner);
      expect((await switchTo(again, owner.email)).status).to.equal(204);
      expect((await countActiveAccess(id)).sessions).to.equal(1);
    });

  /** Submits the form of the navigation that switches to the own account. */
  async function sendSwitch(owner: TestCustomer) {
    const fields = { switch_to: await findUuid(owner, owner.email) };
    return sendAccountForm(service.baseUrl, createBrowserFor(owner), '/account/switch/', fields);
  }

  it('cannot return to an account whose owner deletes it, and undo that', async () => {
    const { owner, id } = await createAbsent();
    const current = await signInAgain(owner);
    expect((await switchTo(current, owner.email)).status).to.equal(204);
    const email = { email: owner.email };
    const deleted = await sendAccountForm(service.baseUrl, createBrowserFor(current), '/account/delete/', email);
    expect(deleted.status).to.equal(303);
    expectError(await switchTo(owner, owner.email), 'insufficient_scope', 'sign in again');
    const [{ details }] = await service.sql(
      `SELECT details FROM security_events WHERE account_id = $1 AND event = 'deletion_requested'`,
      [id],
    );
    expect(details.sessions).to.equal(1);
    const undone = await sendAccountForm(service.baseUrl, createBrowserFor(current), '/account/delete/undo/');
    expect(undone.status).to.equal(303);
  });

  it('ends with all others of the person that the person ends', async () => {
    const { owner } = await createAbsent();
    const current = await signInAgain(owner);
    expect((await switchTo(current, owner.email)).status).to.equal(204);
    const visitor = createBrowserFor(current);
    const ended = await sendAccountForm(service.baseUrl, visitor, '/account/sessions/end-others/');
    expect(ended.status).to.equal(303);
    expectError(await owner.requestWithSession('GET', '/api/usage/summary/'), 'invalid_api_key');
  });
});

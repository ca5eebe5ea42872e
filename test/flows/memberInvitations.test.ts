import { expect } from 'chai';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { accept, addMember, findListed, invite } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { useTestService } from '../harness/testService.ts';

const post = (person: TestCustomer, path: string, body = {}) => person.requestWithSession('POST', path, { body });
const listOpen = async (person: TestCustomer) =>
  (await person.requestWithSession('GET', '/api/invitations/')).body.data.map(({ email }: any) => email);

describe('an invitation to an account', () => {
  const service = useTestService({ workers: 0 });

  it('ends when the member who sent it is removed, so that it does not let that person back in', async () => {
    const owner = await service.createCustomer(null);
    const admin = await addMember(owner, 'admin');
    const invited = await service.createCustomer(null);
    const path = await invite(admin, invited, 'admin');
    const byOwner = await invite(owner, { email: 'other@example.com' }, 'viewer');
    expect(byOwner).to.be.a('string');
    await post(owner, `/api/members/${(await findListed(owner, admin)).uuid}/remove/`);
    expect(await accept(invited, path)).to.equal(404);
    expect(await listOpen(owner)).to.deep.equal(['other@example.com']);
  });

  it('ends when the member who sent it leaves, or gets a role that may not invite', async () => {
    const owner = await service.createCustomer(null);
    const [leaving, lowered] = [await addMember(owner, 'admin'), await addMember(owner, 'admin')];
    const [first, second] = [await service.createCustomer(null), await service.createCustomer(null)];
    const paths = [await invite(leaving, first, 'admin'), await invite(lowered, second, 'admin')];
    await post(leaving, '/authentication/leave/');
    const { uuid } = await findListed(owner, lowered);
    await owner.requestWithSession('PATCH', `/api/members/${uuid}/`, { body: { role: 'developer' } });
    expect(await accept(first, paths[0] as string)).to.equal(404);
    expect(await accept(second, paths[1] as string)).to.equal(404);
    expect(await listOpen(owner)).to.deep.equal([]);
  });

  it('stays if another member sent it again', async () => {
    const owner = await service.createCustomer(null);
    const admin = await addMember(owner, 'admin');
    const invited = await service.createCustomer(null);
    await invite(admin, invited, 'viewer');
    const [{ uuid }] = (await owner.requestWithSession('GET', '/api/invitations/')).body.data;
    const { body } = await post(owner, `/api/invitations/${uuid}/resend/`);
    await post(owner, `/api/members/${(await findListed(owner, admin)).uuid}/remove/`);
    expect(await accept(invited, new URL(body.url).pathname)).to.equal(303);
  });

  it('is not accepted by a session that was ended while the request waited for the account', async () => {
    const owner = await service.createCustomer(null);
    const invited = await service.createCustomer(null);
    const path = await invite(owner, invited, 'viewer');
    let accepted: Promise<number> | undefined;
    await whileAccountIsLocked(service, await getAccountId(service, owner), async (holder) => {
      accepted = accept(invited, path);
      await waitForLockWaits(service);
      await holder.query('DELETE FROM sessions WHERE account_id = $1', [await getAccountId(service, invited)]);
    });
    expect(await accepted).to.equal(401);
    const { body } = await owner.requestWithSession('GET', '/api/members/');
    expect(body.data).to.have.length(1);
  });

  it('makes a member whose session acts on the account, or stays open', async () => {
    const owner = await service.createCustomer(null);
    const invited = await service.createCustomer(null);
    const path = await invite(owner, invited, 'viewer');
    await service.sql(
      `CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stands for a crash'; END $$;
       CREATE TRIGGER reject BEFORE UPDATE OF account_id ON sessions FOR EACH ROW EXECUTE FUNCTION reject()`,
    );
    expect(await accept(invited, path)).to.equal(500);
    expect(await findListed(owner, invited)).to.equal(undefined);
    await service.sql('DROP FUNCTION reject CASCADE');
    expect(await accept(invited, path)).to.equal(303);
    const { body } = await invited.requestWithSession('GET', '/authentication/accounts/');
    expect(body.accounts.find((account: any) => account.is_current)).to.include({ email: owner.email, role: 'viewer' });
  });

  it('leaves a member who is removed during a sign-in the other accounts', async () => {
    const owner = await service.createCustomer(null);
    const member = await addMember(owner, 'viewer');
    const accountId = await getAccountId(service, owner);
    let signedIn: Promise<ApiResponse> | undefined;
    await whileAccountIsLocked(service, accountId, async (holder) => {
      signedIn = service.request('POST', '/authentication/dev/sign-in/', { body: { email: member.email } });
      await waitForLockWaits(service);
      await holder.query('DELETE FROM sessions WHERE account_id = $1 AND member_number = 2', [accountId]);
      await holder.query('UPDATE members SET removed_at = now() WHERE account_id = $1 AND number = 2', [accountId]);
    });
    const { status, headers } = (await signedIn) as ApiResponse;
    expect(status).to.equal(200);
    const [cookie = ''] = headers.getSetCookie();
    const { body } = await service.request('GET', '/authentication/accounts/', { headers: { cookie } });
    expect(body.accounts).to.have.length(1);
    expect(body.accounts[0]).to.include({ email: member.email, role: 'owner', is_current: true });
  });

  it('is not accepted while the account is suspended', async () => {
    const owner = await service.createCustomer(null);
    const invited = await service.createCustomer(null);
    const path = await invite(owner, invited, 'viewer');
    service.fabricated.add('suspensions-are-audited');
    const suspend = (at: string) =>
      service.sql(`UPDATE accounts SET suspended_at = ${at} WHERE email = $1`, [owner.email]);
    await suspend('now()');
    expect(await accept(invited, path)).to.equal(404);
    await suspend('NULL');
    expect(await accept(invited, path)).to.equal(303);
  });

  it('is counted in the list after its last page, too', async () => {
    const owner = await service.createCustomer(null);
    await invite(owner, { email: 'invited@example.com' }, 'viewer');
    const { body } = await owner.requestWithSession('GET', '/api/invitations/?page=9');
    expect(body.pagination).to.include({ total_items: 1, total_pages: 1 });
  });

  it('is sent to one address five times a day at most, also if it is revoked in between', async () => {
    const owner = await service.createCustomer(null);
    const body = { email: 'victim@example.com', role: 'viewer' };
    const sent = [];
    for (let count = 0; count < 6; count += 1) sent.push((await post(owner, '/api/invitations/create/', body)).status);
    expect(sent).to.deep.equal([201, 201, 201, 201, 201, 400]);
    expectError(await post(owner, '/api/invitations/create/', body), 'validation_error', 'has received 5 messages');
    expect((await post(owner, '/api/invitations/create/', { ...body, email: 'b@example.com' })).status).to.equal(201);
  });
});

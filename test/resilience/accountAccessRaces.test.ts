import { expect } from 'chai';
import { findOrCreatePersonByEmail } from '../../shared/domain/signIn/findOrCreatePerson.ts';
import { linkIdentity, removeIdentity, signInWithIdentity } from '../../shared/domain/signIn/identities.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { createWebSession, revokeOtherWebSessions } from '../../shared/domain/signIn/sessions.ts';
import { grantStaffRights, isStaff } from '../../shared/domain/accounts/staffRights.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeGitHub, startFakeGoogle } from '../fakes/identity/providers.ts';
import { captureError } from '../harness/expectRejection.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { getAccountId } from '../harness/outbox.ts';
import { type TestService, startTestService } from '../harness/testService.ts';

const STAFF_EMAIL = 'boss@example.com';

/** The claims that a provider returns about a person. */
const toIdentity = ({ subject, email }: FakePerson) => ({
  subject,
  email,
  isEmailVerified: true,
  firstName: 'Test',
});

/** Signs a person in, in the service of this process. */
async function signIn(person: FakePerson) {
  const result = await signInWithIdentity('google', { ...toIdentity(person) }, null);
  if (result.problem !== null) throw new Error(result.problem);
  const opened = await createWebSession(result.person.id, SERVICE_ORIGIN, result.identityUuid);
  return { ...result, ...opened };
}

const END_SESSIONS = 'DELETE FROM sessions WHERE account_id = $1';

interface WaitingWork {
  /** Statement that is executed before the work gets the lock; by default, it ends the account's sessions. */
  change?: string;
}

/** Runs work that has to wait for an account, and ends the account's sessions before it gets the lock. */
async function whileSessionsEnd<Result>(
  service: TestService,
  accountId: number,
  work: () => Promise<Result>,
  { change = END_SESSIONS }: WaitingWork = {},
): Promise<Result> {
  let running: Promise<Result> | undefined;
  await whileAccountIsLocked(service, accountId, async (holder) => {
    running = work();
    await waitForLockWaits(service);
    await holder.query(change, [accountId]);
  });
  return running as Promise<Result>;
}

describe('ending access to an account while it is being used', () => {
  let service: TestService;
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let github: Awaited<ReturnType<typeof startFakeGitHub>>;
  before(async () => {
    [google, github] = await Promise.all([startFakeGoogle(), startFakeGitHub()]);
    const env = { STAFF_EMAILS: STAFF_EMAIL, ...google.env, ...github.env };
    service = await startTestService({ workers: 0, env });
    await google.serve(service.baseUrl);
  });
  after(async () => {
    await service.stop();
    await Promise.all([google.fake.stop(), github.fake.stop()]);
  });

  it('does not link an identity for a session that ended while the link waited for the account', async () => {
    const { account, person, token } = await signIn(createPerson());
    const linked = await whileSessionsEnd(service, account.id, () =>
      linkIdentity('github', toIdentity(createPerson()), sha256(token)),
    );
    expect(linked).to.deep.equal({ problem: 'expired' });
    const rows = await service.sql('SELECT provider FROM identities WHERE person_id = $1', [person.id]);
    expect(rows).to.deep.equal([{ provider: 'google' }]);
  });

  it('removes no identity, and ends no session, for a session that ended while the request waited', async () => {
    const { account, person, token, identityUuid } = await signIn(createPerson());
    await linkIdentity('github', toIdentity(createPerson()), sha256(token));
    const member = { number: 1, role: 'owner' as const };
    for (const work of [
      (ended: string) => removeIdentity(person.id, identityUuid, { currentToken: ended }),
      (ended: string) => {
        const credential = { kind: 'session' as const, hash: sha256(ended) };
        return revokeOtherWebSessions({ accountId: account.id, credential, member }, ended);
      },
    ]) {
      const { token: ended } = await createWebSession(person.id, SERVICE_ORIGIN, identityUuid);
      const change = `DELETE FROM sessions WHERE account_id = $1 AND token_hash = decode('${sha256(ended).toString('hex')}', 'hex')`;
      const error = await captureError(
        whileSessionsEnd(service, account.id, async () => void (await work(ended)), { change }),
      );
      expect(error).to.include({ code: 'invalid_api_key' });
    }
    const rows = await service.sql('SELECT provider FROM identities WHERE person_id = $1 ORDER BY 1', [person.id]);
    expect(rows).to.deep.equal([{ provider: 'github' }, { provider: 'google' }]);
    expect(await service.sql('SELECT 1 FROM sessions WHERE token_hash = $1', [sha256(token)])).to.have.length(1);
  });

  it('creates another account for an address whose account was erased while the sign-in waited for it', async () => {
    const person = createPerson();
    const { id } = await findOrCreatePersonByEmail(person.email, 'dev');
    const accountId = await getAccountId(service, person);
    const erase = `WITH member AS (UPDATE members SET removed_at = now() WHERE account_id = $1 RETURNING person_id),
                        person AS (UPDATE people SET email = 'erased-' || uuid || '@erased.invalid', erased_at = now()
                                     FROM member WHERE id = person_id)
                   UPDATE accounts SET email = 'erased-' || uuid || '@erased.invalid', erased_at = now(),
                          deletion_requested_at = now() WHERE id = $1`;
    const result = await whileSessionsEnd(
      service,
      accountId,
      () => signInWithIdentity('google', toIdentity(person), null),
      {
        change: erase,
      },
    );
    if (result.problem !== null) throw new Error(result.problem);
    expect(result.person.id).to.not.equal(id);
    expect(await service.sql('SELECT 1 FROM identities WHERE person_id = $1', [id])).to.deep.equal([]);
    const error = await captureError(createWebSession(id, SERVICE_ORIGIN));
    expect(error.message).to.include('The account was deleted');
  });

  it('opens no session by an identity that was removed while the sign-in was in progress', async () => {
    const { account, person, identityUuid } = await signIn(createPerson());
    await removeIdentity(person.id, identityUuid, { currentToken: null });
    const error = await captureError(createWebSession(person.id, SERVICE_ORIGIN, identityUuid));
    expect(error.message).to.match(/foreign key/);
    expect(await service.sql('SELECT 1 FROM sessions WHERE account_id = $1', [account.id])).to.deep.equal([]);
  });

  it('gives the staff rights of a removed last identity to the next first sign-in with the listed address', async () => {
    const first = await signIn(createPerson({ email: STAFF_EMAIL }));
    await grantStaffRights(first.person);
    const readPerson = async () => (await service.sql('SELECT * FROM people WHERE email = $1', [STAFF_EMAIL]))[0];
    const hasRights = async (token: string) =>
      isStaff({
        accountId: first.account.id,
        credential: { kind: 'session', hash: sha256(token) },
        member: { number: 1, role: 'owner' },
      });
    expect(await hasRights(first.token)).to.equal(true);
    await removeIdentity(first.person.id, first.identityUuid, { currentToken: null });
    expect(await hasRights(first.token)).to.equal(false);
    const next = await signIn(createPerson({ email: STAFF_EMAIL }));
    await grantStaffRights(await readPerson());
    expect(next.account.id).to.equal(first.account.id);
    expect(await hasRights(next.token)).to.equal(true);
  });
});

import { expect } from 'chai';
import type { FakeSmtpServer } from '../fakes/smtpServer.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { runAdminHere } from '../harness/adminCommand.ts';
import { useMailService } from '../harness/mailService.ts';
import { addMember, findListed, invite } from '../harness/members.ts';
import { changeOwner } from '../harness/people.ts';
import { dispatchEvents, sendEmails } from '../harness/tasks.ts';
import type { TestService } from '../harness/testService.ts';

const post = (person: TestCustomer, path: string) => person.requestWithSession('POST', path);

async function deliver(): Promise<void> {
  for (const _ of [1, 2]) {
    await dispatchEvents();
    await sendEmails();
  }
}

describe('messages to members', () => {
  const mail = useMailService();
  let smtp: FakeSmtpServer;
  let service: TestService;
  let owner: TestCustomer;
  let member: TestCustomer;
  before(async () => {
    ({ smtp, service } = mail);
  });
  beforeEach(async () => {
    owner = await mail.createCustomer(null);
    member = await addMember(owner, 'developer');
    await deliver();
    smtp.reset();
  });

  const listSubjects = ({ email }: TestCustomer) =>
    smtp.findMessages(email).map(({ headers }) => headers.get('subject'));
  const changeRole = async (role: string) =>
    owner.requestWithSession('PATCH', `/api/members/${(await findListed(owner, member)).uuid}/`, { body: { role } });

  it('one who was removed receives one, in the own language, also if the person is erased with it', async () => {
    await changeOwner(service, member.email, 'language', 'de');
    const { uuid } = await findListed(owner, member);
    await post(owner, `/api/members/${uuid}/remove/`);
    await deliver();
    expect(listSubjects(member)).to.deep.equal(['Sie wurden aus einem Konto bei genmeter entfernt']);
    expect(smtp.findMessages(member.email)[0]?.text).to.include(`des Kontos von ${owner.email}`);
    expect(listSubjects(owner)).to.deep.equal([]);
  });

  it('one whose role changed receives one for each change, and none for a role that stays', async () => {
    for (const role of ['viewer', 'viewer', 'admin']) expect((await changeRole(role)).status).to.equal(200);
    await deliver();
    expect(listSubjects(member)).to.deep.equal(Array(2).fill('Your role in an account at genmeter was changed'));
    const texts = smtp.findMessages(member.email).map(({ text }) => /is (\w+) from now on/.exec(text)?.[1]);
    expect(texts).to.have.members(['viewer', 'admin']);
  });

  it('one who leaves receives none', async () => {
    await post(member, '/authentication/leave/');
    await deliver();
    expect(listSubjects(member)).to.deep.equal([]);
  });

  it('both people of a hand-over receive one each, also if it is requested twice', async () => {
    const { uuid } = await findListed(owner, member);
    const answers = await Promise.all([1, 2].map(() => post(owner, `/api/members/${uuid}/hand-over/`)));
    expect(answers.map(({ status }) => status)).to.have.members([204, 403]);
    await deliver();
    expect(listSubjects(owner)).to.deep.equal(['You handed your genmeter account over']);
    expect(listSubjects(member)).to.deep.equal(['You are the owner of an account at genmeter']);
    const [given] = smtp.findMessages(owner.email);
    expect(given?.text).to.include(`${member.email} is the owner`).and.include('Otherwise contact support.');
    expect(given?.text).to.not.include('/account/notifications/');
  });

  it('one about the own access goes to its person, although the account was handed over before it is sent', async () => {
    const { headers } = await service.request('POST', '/authentication/dev/sign-in/', {
      body: { email: owner.email },
      headers: { 'user-agent': 'AnotherBrowser/1.0' },
    });
    expect(headers.getSetCookie()).to.have.length(1);
    const { uuid } = await findListed(owner, member);
    await post(owner, `/api/members/${uuid}/hand-over/`);
    await deliver();
    expect(listSubjects(owner)).to.include('New sign-in to your genmeter account');
    expect(listSubjects(member)).to.not.include('New sign-in to your genmeter account');
  });

  it('are in the download of the account by their addresses only', async () => {
    const known = await mail.createCustomer(null);
    await known.requestWithSession('PATCH', '/authentication/me/', { body: { first_name: 'Secretname' } });
    await invite(owner, known, 'viewer');
    await owner.request('POST', '/api/keys/create/', { body: { name: 'CI' } });
    await deliver();
    const out = await runAdminHere('export-account', owner.email);
    const exported = JSON.parse(out);
    const invitation = exported.emails.find(({ kind }: any) => kind === 'member_invited');
    expect(invitation.params).to.deep.equal({ recipient_email: known.email });
    expect(out).to.not.include('Secretname');
    expect(exported.emails.find(({ kind }: any) => kind === 'key_created').params.name).to.equal('CI');
  });
});

import { expect } from 'chai';
import { createPerson, type FakePerson } from '../fakes/identity/person.ts';
import { startFakeGitHub, startFakeGoogle } from '../fakes/identity/providers.ts';
import { findForm, HttpBrowser } from '../harness/httpBrowser.ts';
import { type MailService, startMailService } from '../harness/mailService.ts';
import { startLinking } from '../harness/providerSignIn.ts';
import { dispatchEvents, sendEmails } from '../harness/tasks.ts';

describe('the undo of a removed sign-in method', () => {
  let mail: MailService;
  let google: Awaited<ReturnType<typeof startFakeGoogle>>;
  let github: Awaited<ReturnType<typeof startFakeGitHub>>;
  let owner: FakePerson;
  /** Browser with the session that links another method and removes the owner's. */
  let thief: HttpBrowser;
  let undoUrl: string;
  before(async () => {
    [google, github] = await Promise.all([startFakeGoogle(), startFakeGitHub()]);
    mail = await startMailService({ ...google.env, ...github.env });
    await google.serve(mail.service.baseUrl);
  });
  after(async () => {
    await mail.stop();
    await Promise.all([google, github].map(({ fake }) => fake.stop()));
  });

  const at = (path: string) => mail.service.baseUrl + path;
  const signIn = async (provider: 'google' | 'github') => {
    const visitor = new HttpBrowser();
    await visitor.navigate(at(`/authentication/social/${provider}/start`));
    return visitor;
  };
  const isSignedIn = async (visitor: HttpBrowser) => (await visitor.request(at('/authentication/me/'))).status === 200;
  const readEmail = async (visitor: HttpBrowser) =>
    JSON.parse((await visitor.request(at('/authentication/me/'))).text).user.email;
  const post = (visitor: HttpBrowser, path: string, body: object) =>
    visitor.request(at(path), {
      method: 'POST',
      headers: { origin: mail.service.baseUrl, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const createKey = async (visitor: HttpBrowser): Promise<string> =>
    JSON.parse((await post(visitor, '/api/keys/create/', { name: 'a' })).text).key;
  const isKeyValid = async (key: string) =>
    (await mail.service.request('GET', '/api/keys/', { headers: { authorization: `Bearer ${key}` } })).status === 200;
  const invite = async (visitor: HttpBrowser, email: string) => {
    const { text } = await post(visitor, '/api/invitations/create/', { email, role: 'admin' });
    return new URL(JSON.parse(text).url as string);
  };
  const link = async (visitor: HttpBrowser) => {
    await visitor.navigate(await startLinking(mail.service.baseUrl, visitor, 'github'));
  };
  const removeGoogle = async (visitor: HttpBrowser) => {
    const { text } = await visitor.request(at('/account/settings/'));
    const [, path = ''] = /href="(\/account\/identities\/[^"]+\/remove\/)"/.exec(text) ?? [];
    const page = await visitor.request(at(path));
    return visitor.submitForm(at(path), findForm(page.text, path).fields);
  };
  const readUndoUrl = async () => {
    await dispatchEvents();
    await sendEmails();
    const message = mail
      .listReceived({ email: owner.email } as never)
      .find(({ text }) => text.includes('/restore-sign-in/'));
    const [, url = ''] = /Undo the removal: (\S+)/.exec(message?.text ?? '') ?? [];
    return url;
  };

  beforeEach(async () => {
    owner = google.fake.person = createPerson();
    github.fake.person = createPerson();
    thief = await signIn('google');
    await link(thief);
    expect((await removeGoogle(thief)).headers.get('location')).to.include('done=identity-removed');
    undoUrl = await readUndoUrl();
  });

  it('restores the method, and ends all that was added since the sign-in of the session that removed it', async () => {
    const key = await createKey(thief);
    expect((await post(thief, '/api/webhooks/create/', { url: 'https://example.com/hook' })).status).to.equal(201);
    const byGitHub = await signIn('github');
    // The only method left, but linked lately.
    expect((await post(byGitHub, '/api/keys/create/', { name: 'a' })).status).to.equal(403);
    const visitor = new HttpBrowser();
    expect((await visitor.request(undoUrl)).text).to.include('Restore Google?');
    expect(await isSignedIn(thief)).to.equal(true);
    expect((await visitor.submitForm(undoUrl, {})).text).to.include('Sign-in method restored');
    expect([await isSignedIn(thief), await isSignedIn(byGitHub), await isKeyValid(key)]).to.deep.equal([
      false,
      false,
      false,
    ]);
    const again = await signIn('google');
    expect(await readEmail(again)).to.equal(owner.email);
    expect(await readEmail(await signIn('github'))).to.equal(github.fake.person?.email);
    const log = (await again.request(at('/account/security/'))).text;
    expect(log).to.include('Google restored as a sign-in method').and.include('disabled 1 webhook endpoint<');
    // Opened again, the link changes nothing.
    expect((await visitor.submitForm(undoUrl, {})).status).to.equal(200);
    expect(await isSignedIn(again)).to.equal(true);
  });

  it('removes the people who joined since, and revokes open invitations', async () => {
    google.fake.person = createPerson();
    const accomplice = await signIn('google');
    const joined = await invite(thief, google.fake.person.email);
    const page = await accomplice.request(joined);
    await accomplice.submitForm(joined, findForm(page.text, joined.pathname).fields);
    const key = await createKey(accomplice);
    expect(await isKeyValid(key)).to.equal(true);
    const later = await invite(thief, createPerson().email);
    await new HttpBrowser().submitForm(undoUrl, {});
    expect([await isKeyValid(key), await isSignedIn(accomplice)]).to.deep.equal([false, false]);
    google.fake.person = owner;
    const again = await signIn('google');
    const { data } = JSON.parse((await again.request(at('/api/members/'))).text);
    expect(data.filter((member: { removed_at: string | null }) => member.removed_at === null)).to.have.length(1);
    const { data: open } = JSON.parse((await again.request(at('/api/invitations/'))).text);
    expect(open, later.pathname).to.deep.equal([]);
  });

  it('keeps keys from before the sign-in of that session, and works for seven days', async () => {
    const key = await createKey(thief);
    await mail.service.sql(`UPDATE api_keys SET created_at = created_at - interval '1 hour'`);
    expect((await new HttpBrowser().request(undoUrl.slice(0, -2))).status).to.equal(404);
    const inAWeek = Date.now() + 7 * 86_400_000;
    await mail.service.moveClockTo(new Date(inAWeek + 1_000));
    expect((await new HttpBrowser().submitForm(undoUrl, {})).status).to.equal(404);
    await mail.service.moveClockTo(new Date(inAWeek - 60_000));
    expect((await new HttpBrowser().submitForm(undoUrl, {})).status).to.equal(200);
    expect(await isKeyValid(key)).to.equal(true);
  });
});

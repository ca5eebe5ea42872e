import { chmodSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { provideCliUser } from '../harness/cliSignIn.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';

/** An account without rights to the files of root. */
const UNPRIVILEGED_UID = 65_534;

/** Runs work as a user who can read a folder and the file in it, and cannot write to the folder. */
async function withoutWriteAccess<Result>(folder: string, file: string, work: () => Promise<Result>): Promise<Result> {
  const uid = process.geteuid?.();
  chmodSync(file, 0o644);
  chmodSync(folder, 0o555);
  chmodSync(join(folder, '..'), 0o755);
  if (uid === 0) process.seteuid?.(UNPRIVILEGED_UID);
  try {
    return await work();
  } finally {
    if (uid === 0) process.seteuid?.(uid);
    chmodSync(folder, 0o755);
  }
}

/** Error of a command that cannot write the file. */
const describeProblem = (folder: string, reason: string) =>
  new RegExp(
    `^Error: ${folder}/credentials\\.json cannot be written: ${reason}.*\\. ` +
      `Make sure that you can write to the folder ${folder} or set XDG_CONFIG_HOME to another one\\.\\n$`,
  );

describe('the settings file of the command line', () => {
  const cli = provideCliUser();

  describe('if it cannot be written', () => {
    let terminal: TestTerminal;
    let place: string;
    beforeEach(() => {
      const file = join(cli.user.folder, 'file');
      writeFileSync(file, '');
      place = join(file, 'genmeter');
      terminal = new TestTerminal({ XDG_CONFIG_HOME: file });
    });

    it('makes a sign-in fail before the browser opens', async () => {
      const { status, stderr } = await terminal.run('login', '--url', cli.service.baseUrl);
      expect(status).to.equal(1);
      expect(stderr).to.match(describeProblem(place, 'ENOTDIR|EEXIST'));
      expect(terminal.opened).to.deep.equal([]);
    });

    it('makes a sign-in with a key fail before the key is asked for', async () => {
      const { status, stderr } = await terminal.run('login', '--url', cli.service.baseUrl, '--key', '--json');
      expect([status, JSON.parse(stderr).error]).to.deep.equal([1, 'credentials_file']);
      expect(terminal.opened).to.deep.equal([]);
    });

    it('does not concern a person who has not signed in, or who uses the environment', async () => {
      expect(await terminal.run('logout')).to.deep.equal({ status: 0, stdout: 'Not signed in.\n', stderr: '' });
      const env = { ...terminal.env, GENMETER_URL: cli.service.baseUrl, GENMETER_KEY: cli.user.customer.key };
      expect((await new TestTerminal(env).run('usage')).status).to.equal(0);
    });
  });

  it('is not replaced by a sign-in of a user who can only read it, and the previous sign-in remains', async () => {
    await cli.user.logIn();
    const { settings, file } = cli.user;
    const stored = cli.user.readCredentials();
    const grants = await cli.user.listActiveGrants();
    const terminal = cli.user.createTerminal();
    const { status, stderr } = await withoutWriteAccess(settings, file, () =>
      terminal.run('login', '--url', cli.service.baseUrl),
    );
    expect(status).to.equal(1);
    expect(stderr).to.match(describeProblem(settings, 'EACCES'));
    expect(terminal.opened).to.deep.equal([]);
    expect(cli.user.readCredentials()).to.deep.equal(stored);
    expect(await cli.user.listActiveGrants()).to.deep.equal(grants);
  });

  it('is not deleted by a user who can only read it, and the access is not ended', async () => {
    await cli.user.logIn();
    const { settings, file } = cli.user;
    const grants = await cli.user.listActiveGrants();
    expect(grants).to.have.lengthOf(1);
    const { status, stdout, stderr } = await withoutWriteAccess(settings, file, () => cli.user.run('logout'));
    expect([status, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.match(describeProblem(settings, 'EACCES'));
    expect(await cli.user.listActiveGrants()).to.deep.equal(grants);
    expect((await cli.user.run('usage')).status).to.equal(0);
  });

  it('is reported before a sign-in if a folder has its name', async () => {
    mkdirSync(cli.user.file, { recursive: true });
    const { status, stderr } = await cli.user.run('login', '--url', cli.service.baseUrl);
    expect(status).to.equal(1);
    expect(stderr).to.match(describeProblem(cli.user.settings, 'it is a folder'));
    rmdirSync(cli.user.file);
  });

  it('does not leave an access behind if it can no longer be written when the browser returns', async () => {
    const login = await cli.user.startLogin();
    mkdirSync(`${cli.user.file}.${process.pid}`);
    await fetch(await cli.user.decide(login));
    const { status, stderr } = await login.result;
    expect(status).to.equal(1);
    expect(stderr).to.include(`${cli.user.file} cannot be written`);
    expect(await cli.user.listActiveGrants()).to.deep.equal([]);
  });
});

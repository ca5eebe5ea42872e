import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import { TestTerminal } from '../harness/cliTerminal.ts';

/** A command as its help describes it. */
interface HelpPage {
  path: string[];
  commands: string[];
  /** Names of options, such as `--json` and `-w`. */
  options: Set<string>;
  examples: string[];
  text: string;
}

async function readHelp(path: string[]): Promise<HelpPage> {
  const { status, stdout, stderr } = await new TestTerminal({}).run(...path, '--help');
  expect([status, stderr], path.join(' ')).to.deep.equal([0, '']);
  const section = (title: string) => new RegExp(`^${title}:\\n((?: .*\\n?)+)`, 'm').exec(`${stdout}\n`)?.[1] ?? '';
  const names = [...section('Commands').matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
  const flags = [...`${section('Options')}${section('Global Options')}`.matchAll(/^ {2}(-.*?)(?: {2,}|$)/gm)].map(
    ([, flag = '']) => flag,
  );
  return {
    path,
    commands: names.filter((name) => name !== 'help'),
    options: new Set(flags.flatMap((flag) => flag.match(/--?[\w-]+/g) ?? [])),
    examples: section('Examples').split('\n').filter(Boolean),
    text: stdout,
  };
}

/** Reads the help of a command and of all below it. */
async function readAllHelp(path: string[] = []): Promise<HelpPage[]> {
  const page = await readHelp(path);
  const below = await Promise.all(page.commands.map((name) => readAllHelp([...path, name])));
  return [page, ...below.flat()];
}

describe('the help of the command line', () => {
  let pages: HelpPage[];
  before(async () => {
    pages = await readAllHelp();
  });

  it('describes every command, argument and option', () => {
    expect(pages.length).to.be.at.least(20);
    for (const { text, path } of pages) {
      const entries =
        /^(?:Arguments|Options|Commands):\n((?: .*\n?|\n(?=(?:Options|Commands):)|(?:Options|Commands):\n)+)/m;
      const lines = (entries.exec(text)?.[1] ?? '').split('\n').filter((line) => /^ {2}\S/.test(line));
      expect(lines, path.join(' ')).to.not.deep.equal([]);
      for (const line of lines) expect(line, path.join(' ')).to.match(/^ {2}\S.*? {2,}\S/);
      expect(text.split('\n')[2], path.join(' ')).to.match(/^\w.{10,}/);
    }
  });

  it('has examples of every command that does something, with its own options', () => {
    for (const { path, commands, examples, options } of pages) {
      if (commands.length > 0) continue;
      expect(examples, path.join(' ')).to.not.deep.equal([]);
      for (const example of examples) {
        expect(example.startsWith(`  genmeter ${path.join(' ')}`), example).to.equal(true);
        for (const [flag] of example.matchAll(/(?<= )--?[a-z][\w-]*/g)) expect([...options], example).to.include(flag);
      }
    }
  });

  it('names the exit statuses, the first command and the environment', () => {
    expect(pages[0]?.text)
      .to.include('genmeter login --url')
      .and.include('GENMETER_KEY')
      .and.match(/0 success.*1 error.*2 wrong.*3 .*4 .*\n5 .*6 .*130 /)
      .and.include('Repeat a create only with --idempotency-key');
  });
});

const printScript = async (shell: string) => (await new TestTerminal({}).run('completion', shell)).stdout;

describe('the completion of a command line', () => {
  it('offers in bash commands, then the options of the command, and otherwise files', async () => {
    const script = await printScript('bash');
    const complete = (...words: string[]): string[] => {
      const run = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _genmeter; echo "${COMPREPLY[*]}"';
      const output = execFileSync('bash', ['-c', `${script}\n${run}`, 'bash', 'genmeter', ...words]);
      return output.toString().trim().split(' ').filter(Boolean);
    };
    expect(complete('')).to.include.members(['login', 'create', 'completion']).and.not.include('--json');
    expect(complete('create', '')).to.deep.equal(['image', 'video', 'help']);
    expect(complete('create', 'image', 'A lighthouse', '-p', 'resolution=2K', '--m')).to.deep.equal([
      '--model',
      '--metadata',
      '--max-credits',
    ]);
    expect(complete('--json', 'keys', 'up')).to.deep.equal(['update']);
    expect(complete('completion', '')).to.deep.equal(['bash', 'zsh', 'fish']);
    expect(complete('get', 'one', '-o', '')).to.deep.equal([]);
  });

  it('has every command and option in the scripts of zsh and fish', async () => {
    const [zsh, fish] = [await printScript('zsh'), await printScript('fish')];
    for (const { path, options } of (await readAllHelp()).slice(1)) {
      const name = ['genmeter', ...path].join(' ');
      const [line = ''] = zsh.split('\n').filter((one) => one.includes(`('${name}') names=`));
      for (const option of options) {
        expect(line, name).to.include(`'${option}:`);
        const entry = `"__genmeter_at '${name}'" ${option.startsWith('--') ? '-l' : '-s'} '${option.replace(/^-+/, '')}' -d`;
        expect(fish, name).to.include(entry);
      }
    }
  });
});

/** Runs a command that needs an account, without stored settings. */
const showUsage = (env: Record<string, string>) =>
  new TestTerminal({ XDG_CONFIG_HOME: '/dev/null', ...env }).run('usage');

describe('a mistake in a command line', () => {
  const mistakes: [args: string[], message: RegExp][] = [
    [['paint'], /^Unknown command 'paint'$/],
    [['create', 'audio', 'x'], /^Unknown command 'audio'$/],
    [['keys', 'rename'], /^Unknown command "rename"\. Commands of keys: list, create, update, revoke\.$/],
    [['webhooks', 'send'], /^Unknown command "send"\. Commands of webhooks: list, listen\.$/],
    [['create', 'image'], /^Missing required argument 'prompt'$/],
    [['usage', '--by-keys'], /^Unknown option '--by-keys'\s+\(Did you mean --by-key\?\)$/],
    [['list', '-n', '0'], /Write a whole number of at least 1\.$/],
    [['create', 'image', 'x', '--idempotency-key', 'é'], /Write printable ASCII characters, such as a UUID\.$/],
    [['create', 'image', 'x', '--image', 'a.png'], /Write parameter=file, such as first_frame=start\.png\.$/],
    [['create', 'image', 'x', '--image', 'frame=/missing.png'], /\/missing\.png cannot be read: ENOENT.* Nothing was/],
    [
      ['create', 'image', 'x', '--image', 'frame=/etc/hostname', '--idempotency-key', 'k'],
      /^A file is a new upload each time, so it cannot be repeated with --idempotency-key\./,
    ],
    [['topup', 'much'], /Write dollars, such as 50 or 99\.50\.$/],
    [['completion', 'cmd'], /Allowed choices are bash, zsh, fish\.$/],
    [['create', 'image', 'x', '--metadata', 'a'], /Write key=value\.$/],
    [['keys', 'create', 'x', '--limit', '5'], /Write credits\/period, such as 200\/day, 500\/month or 900\/total\.$/],
    [['keys', 'update', 'x'], /^Pass at least one option to change\. See genmeter keys update --help\.$/],
    [['webhooks', 'listen', '--forward-to', 'x'], /Write an address such as http:\/\/localhost:4000\/webhooks\.$/],
    [
      ['create', 'image', 'x', '-o', '/dev/null/a/b.png'],
      /folder \/dev\/null\/a of --output: ENOTDIR.* Nothing was requested\.$/,
    ],
    [['create', 'image', 'x', '-o', '/dev/null/b.png'], /folder \/dev\/null of --output: it is not a folder\. Nothing/],
  ];

  for (const [args, message] of mistakes) {
    it(`genmeter ${args.join(' ')} ends with status 2 and one message, as text and as JSON`, async () => {
      const { status, stdout, stderr } = await new TestTerminal({}).run(...args);
      expect([status, stdout]).to.deep.equal([2, '']);
      const lines = stderr.replace(/\nAdd --help for the options and examples\.\n$/, '').trimEnd();
      expect(lines).to.match(/^Error: /);
      expect(lines.slice('Error: '.length)).to.match(message);

      const json = await new TestTerminal({}).run(...args, '--json');
      expect([json.status, json.stdout]).to.deep.equal([2, '']);
      const { error, detail, ...others } = JSON.parse(json.stderr);
      expect([error, others]).to.deep.equal(['usage', {}]);
      expect(detail).to.match(message);
    });
  }

  it('a missing sign-in and an address that cannot be one say what to do', async () => {
    expect(await showUsage({})).to.include({
      status: 3,
      stderr: 'Error: Not signed in. Set GENMETER_URL and GENMETER_KEY, or run: genmeter login --url ADDRESS\n',
    });
    expect(await showUsage({ GENMETER_URL: 'api.example.com', GENMETER_KEY: 'svc_1' })).to.include({
      status: 2,
      stderr: 'Error: The address of the service must be a URL, such as https://api.example.com.\n',
    });
  });
});

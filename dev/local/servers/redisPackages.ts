import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './runCommand.ts';

const DOWNLOAD_TIMEOUT_MS = 90_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A Redis unpacked from the distribution's packages, with the environment it needs. */
export interface UnpackedRedis {
  file: string;
  env: NodeJS.ProcessEnv;
  distribution: string;
}

/**
 * Downloads and unpacks the redis-server of this Debian or Ubuntu, once per account, without root and without changing
 * the system's package lists. Returns the reason if that fails.
 */
export async function unpackRedis(dataDir: string, log: (line: string) => void): Promise<UnpackedRedis | string> {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  const field = (name: string): string => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(release)?.[1] ?? '';
  if (!/debian|ubuntu/.test(`${field('ID')} ${field('ID_LIKE')}`)) return 'this is neither Debian nor Ubuntu';
  const cache = ensureCacheFolder(dataDir);
  const target = join(cache, `${field('ID')}-${field('VERSION_ID') || 'unversioned'}-${process.arch}`);
  const distribution = field('ID') === 'ubuntu' ? 'Ubuntu' : 'Debian';
  const kept = await findUnpackedRedis(target, distribution);
  if (kept !== null) return kept;

  if (!(await runCommand('apt-get', ['--version'])).ok) return 'there is no apt-get';
  log(`redis: not installed; downloading the packages of ${distribution} once, into ${cache}`);
  removeAbandonedDownloads(cache);
  const work = mkdtempSync(join(cache, 'unfinished-'));
  try {
    const problem = await downloadPackages(work);
    if (problem !== null) return problem;
    const fresh = await findUnpackedRedis(join(work, 'root'), distribution);
    if (fresh === null) return `the packages of ${distribution} contain no redis-server that runs here`;
    moveIntoPlace(join(work, 'root'), target, (await findUnpackedRedis(target, distribution)) !== null);
    return (await findUnpackedRedis(target, distribution)) ?? 'the unpacked redis-server is missing';
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** One folder per account for all data folders; if its home is not writable, the data folder itself. */
function ensureCacheFolder(dataDir: string): string {
  for (const base of [process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), dataDir]) {
    const folder = join(base, 'genmeter', 'redis');
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch {
      continue;
    }
  }
  throw new Error(`${dataDir} is not writable: choose another data folder, or set REDIS_URL.`);
}

async function findUnpackedRedis(root: string, distribution: string): Promise<UnpackedRedis | null> {
  const file = join(root, 'usr/bin/redis-server');
  if (!existsSync(file)) return null;
  const folders = ['usr/lib', 'lib'].flatMap((parent) => {
    const path = join(root, parent);
    return existsSync(path) ? [path, ...readdirSync(path).map((entry) => join(path, entry))] : [];
  });
  const libraries = folders.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory());
  const env = { LD_LIBRARY_PATH: [...libraries, process.env.LD_LIBRARY_PATH ?? ''].filter(Boolean).join(':') };
  const works = (await runCommand(file, ['--version'], { env: { ...process.env, ...env } })).ok;
  return works ? { file, env, distribution } : null;
}

/** Fills `work/root`. Returns null, or the problem. */
async function downloadPackages(work: string): Promise<string | null> {
  const folders = ['lists/partial', 'cache/archives/partial', 'debs', 'root'].map((name) => join(work, name));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  const [debs, root] = [join(work, 'debs'), join(work, 'root')];
  const config = join(work, 'apt.conf');
  writeFileSync(config, buildAptConfig(work));
  const apt = (program: string, args: string[]): ReturnType<typeof runCommand> =>
    runCommand(program, ['-c', config, ...args], {
      cwd: debs,
      env: { ...process.env, LC_ALL: 'C' },
      timeoutMs: DOWNLOAD_TIMEOUT_MS,
    });

  // Its exit code includes sources without any relation to Redis; only the download matters.
  const update = await apt('apt-get', ['-qq', 'update']);
  const names = await listNeededPackages((args) => apt('apt-cache', args));
  const got = await apt('apt-get', ['-qq', 'download', ...names]);
  if (!got.ok) return `apt-get could not download redis-server (${update.problem || got.problem})`;
  for (const deb of readdirSync(debs)) {
    const unpacked = await runCommand('dpkg-deb', ['-x', join(debs, deb), root], { timeoutMs: 60_000 });
    if (!unpacked.ok) return `dpkg-deb could not unpack ${deb} (${unpacked.problem})`;
  }
  return null;
}

/** Lists Redis and its libraries that the system lacks; never the C library, which must be the system's. */
async function listNeededPackages(aptCache: (args: string[]) => ReturnType<typeof runCommand>): Promise<string[]> {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map((kind) => `--no-${kind}`);
  const { stdout } = await aptCache(['depends', '--recurse', ...kinds, 'redis-tools']);
  const found = stdout.split('\n').filter((line) => /^(lib|lua-)/.test(line) && !/^libc(6|-)/.test(line));
  const libraries = [...new Set(found)];
  const installed = await runCommand('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Status}\n', ...libraries]);
  const present = new Set(installed.stdout.split('\n').filter((line) => line.endsWith(' installed')));
  return ['redis-server', 'redis-tools', ...libraries.filter((name) => !present.has(`${name} installed`))];
}

/**
 * Private lists and cache; no change of account (root's apt would switch to one that cannot write here); a quick
 * failure without a network; no hooks, which would clean the system's cache.
 */
function buildAptConfig(work: string): string {
  const hooks = ['APT::Update::Pre-Invoke', 'APT::Update::Post-Invoke', 'APT::Update::Post-Invoke-Success'];
  return [
    ...hooks.map((hook) => `#clear ${hook};`),
    `Dir::State::lists "${join(work, 'lists')}/";`,
    `Dir::Cache "${join(work, 'cache')}/";`,
    'APT::Sandbox::User "";',
    'Acquire::Languages "none";',
    'Acquire::Retries "1";',
    'Acquire::http::Timeout "15";',
    'Acquire::https::Timeout "15";',
    '',
  ].join('\n');
}

/** A rename is atomic; if a concurrent start was faster, its result is used. */
function moveIntoPlace(fresh: string, target: string, isTargetGood: boolean): void {
  if (isTargetGood) return;
  rmSync(target, { recursive: true, force: true });
  try {
    renameSync(fresh, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

function removeAbandonedDownloads(cache: string): void {
  for (const entry of readdirSync(cache).filter((name) => name.startsWith('unfinished-'))) {
    const path = join(cache, entry);
    if (Date.now() - statSync(path).mtimeMs > DAY_MS) rmSync(path, { recursive: true, force: true });
  }
}

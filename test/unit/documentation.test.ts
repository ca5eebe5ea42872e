import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { TOPUP_REASONS } from '../../shared/domain/emails/texts/topupReasons.ts';
import { ALL_TASK_KINDS } from '../../shared/domain/privacy/taskKinds.ts';
import { WEBHOOK_EVENT_TYPES } from '../../shared/spec/events.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README_LINES_MAX = 150;
/** Variables of `npm start` alone, which the service does not read. */
const LOCAL_VARIABLES = ['DATA_DIR', 'SAMPLE_DELAY_MS'];
const SOURCE_FOLDERS = ['.ci', '.github', 'api', 'dev', 'migrations', 'packages', 'shared', 'test', 'worker'];
const INSTALLED_OR_BUILT = /(?:^|\/)(?:node_modules|dist)(?:\/|$)/;
/** Names of other programs that the documents mention and the sources do not. */
const EXTERNAL_NAMES = new Set(
  `autovacuum_vacuum_scale_factor hot_standby_feedback max_standby_streaming_delay n_dead_tup replay_lag replay_lsn restart_lsn sent_lsn slot_name
   SyncRep wait_event xact_start enable_unsafe_triggers ignore_startup_parameters max_prepared_statements pool_mode
   avg_over_time query_wait_timeout server_login_retry used_memory
   add_header default_type error_page health_check http_503 max_conns non_idempotent proxy_add_x_forwarded_for proxy_buffering
   proxy_http_version proxy_intercept_errors proxy_next_upstream proxy_pass proxy_read_timeout proxy_set_header
   server_name ssl_certificate ssl_certificate_key
   fsS sI s_client histogram_quantile bearer_token_env_var nodejs_ process_ usage_ parentbased_traceidratio
   claude_desktop_config mcp_servers AuthKey_ stateDiagram sequenceDiagram HTTPS_PROXY MALLOC_ARENA_MAX
   NEW_DATABASE_URL STANDBY_URL GENMETER_KEY GPU_KEY NNNN_subject generations_model_idx
   EmptyLatentImage batch_size filename_prefix CheckpointLoaderSimple ckpt_name sampler_name latent_image
   VHS_VideoCombine`.split(/\s+/),
);
const EXTERNAL_PREFIXES = /^(?:pg|OTEL|nodejs|process)_\w+$/;
/** Folders of tests that documents name without `test/`. */
const TEST_FOLDERS = ['architecture', 'contract', 'e2e', 'flows', 'payments', 'release', 'resilience', 'unit'];
const TEST_FILE = `\`((?:${TEST_FOLDERS.join('|')})/\\w+)\``;
/** Files of tests, each with words of titles. */
const NAMED_TESTS = new RegExp(`${TEST_FILE}: ("[^"]+"(?:, "[^"]+")*)`, 'g');
/** Endings of the series of a histogram. */
const DERIVED_SUFFIX = /_(?:bucket|sum|count)$/;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Files of a folder, without installed and built ones. */
function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !INSTALLED_OR_BUILT.test(relative(ROOT, entry.parentPath)))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** Every Markdown file outside of installed and generated folders. */
function listDocuments(): string[] {
  const inRoot = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const inFolders = [...SOURCE_FOLDERS, 'docs'].flatMap(listFiles).filter((path) => path.endsWith('.md'));
  return [...inRoot, ...inFolders];
}

/** Paths of all files and folders in the source folders and in docs. */
function listPaths(): string[] {
  return [...SOURCE_FOLDERS, 'docs'].flatMap((folder) => [
    folder,
    ...readdirSync(join(ROOT, folder), { recursive: true })
      .map((name) => `${folder}/${String(name)}`)
      .filter((path) => !INSTALLED_OR_BUILT.test(path)),
  ]);
}

/** Names that the sources contain: identifiers, columns, settings. */
function listSourceNames(): Set<string> {
  const files = [...SOURCE_FOLDERS, 'docs/operations']
    .flatMap(listFiles)
    .filter((path) => /\.(?:[cm]?[jt]sx?|json|sql|ya?ml|py)$/.test(path));
  const others = [
    '.env.example',
    'package.json',
    'compose.yaml',
    'app.json',
    'Procfile',
    'Dockerfile',
    'dev/deploy/haproxy.cfg',
  ];
  const names = [...files, ...others].flatMap((path) => [
    path.split('/').at(-1)?.split('.')[0] ?? '',
    ...(read(path).match(/[A-Za-z_]\w*/g) ?? []),
  ]);
  return new Set(names);
}

const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```/gms, '');

/** Removes programs for customers, whose first line names their file. `flows/webhookReceivers` runs them. */
const withoutPrograms = (text: string): string =>
  text.replaceAll(/^```\w+\n(?:\/\/|#) \w+\.(?:mjs|py)\b.*?^```$/gms, '');

/** Anchors of the headings of a document, as GitHub builds them. */
function listAnchors(path: string): string[] {
  const headings = [...withoutCode(read(path)).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  );
}

function exists(path: string): boolean {
  try {
    readdirSync(join(ROOT, dirname(path)));
    return readdirSync(join(ROOT, dirname(path))).includes(path.split('/').at(-1) as string);
  } catch {
    return false;
  }
}

/** Names of the variables in the schema of the configuration. */
function listVariables(): string[] {
  const files = readdirSync(join(ROOT, 'shared/lib')).filter((name) => /config/i.test(name));
  const texts = files.map((name) => read(`shared/lib/${name}`)).join('\n');
  return [...new Set([...texts.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name = '']) => name))];
}

describe('the documentation', () => {
  const documents = listDocuments();

  it('contains no relative link to a missing file or heading', () => {
    const broken = documents.flatMap((path) =>
      [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^(https?:|mailto:)/.test(link))
        .filter((link) => {
          const [file = '', anchor] = link.split('#');
          const target = file === '' ? path : join(dirname(path), file);
          if (!exists(target)) return true;
          return anchor !== undefined && !listAnchors(target).includes(anchor);
        })
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).to.deep.equal([]);
  });

  it('lists every page of docs in its index', () => {
    const missing = documents
      .filter((path) => path.startsWith('docs/') && !path.endsWith('README.md'))
      .filter((path) => {
        const indexed =
          ['docs/adr', 'docs/operations/runbooks'].find((folder) => path.startsWith(`${folder}/`)) ?? 'docs';
        return !read(`${indexed}/README.md`).includes(`(${relative(indexed, path)})`);
      });
    expect(missing).to.deep.equal([]);
  });

  it('names only folders and files that exist', () => {
    const paths = listPaths().map((path) => `/${path}`);
    const known = (name: string) =>
      paths.some(
        (path) => path.endsWith(`/${name}`) || path.includes(`/${name}/`) || path.endsWith(`/${name}.test.ts`),
      );
    const roots = [...SOURCE_FOLDERS, ...TEST_FOLDERS, 'docs', 'domain', 'gateways'].join('|');
    const pattern = new RegExp(`\`((?:${roots})/[\\w./-]+?|[\\w./-]+\\.tsx?)/?\``, 'g');
    const unknown = documents
      // The changelog may name files of earlier versions.
      .filter((path) => path !== 'CHANGELOG.md')
      .flatMap((path) =>
        [...read(path).matchAll(pattern)]
          .filter(([, name = '']) => !known(name))
          .map(([, name = '']) => `${path}: ${name}`),
      );
    expect(unknown).to.deep.equal([]);
  });

  it('lists every path of the interface in the API reference', () => {
    const reference = read('docs/interface.md');
    const paths = Object.keys(JSON.parse(read('docs/openapi.json')).paths);
    expect(paths.filter((path) => !reference.includes(path))).to.deep.equal([]);
  });

  it('names only functions, tables, columns and settings that the sources contain', () => {
    const known = listSourceNames();
    const isKnown = (name: string) =>
      known.has(name) ||
      known.has(name.replace(DERIVED_SUFFIX, '')) ||
      EXTERNAL_NAMES.has(name) ||
      EXTERNAL_PREFIXES.test(name);
    const unknown = documents
      .filter((path) => path !== 'CHANGELOG.md')
      .flatMap((path) =>
        [...withoutPrograms(read(path)).matchAll(/^```.*?^```|`[^`\n]+`/gms)]
          .flatMap(([code]) => code.match(/[A-Za-z_]\w*/g) ?? [])
          // Plain words are not necessarily names.
          .filter((name) => /[a-z][A-Z]|\w_/.test(name) && !isKnown(name))
          .map((name) => `${path}: ${name}`),
      );
    expect([...new Set(unknown)]).to.deep.equal([]);
  });

  it('names only jobs of the catalog, kinds of tasks and commands of npm run admin', () => {
    const jobs = [...read('shared/queues/catalog.ts').matchAll(/^ {2}'(\w+\.\w+)':/gm)].map(([, name = '']) => name);
    const commands = [...read('worker/cli/admin/commands.ts').matchAll(/^ {2}'([a-z-]+)':/gm)].map(([, name]) => name);
    expect(Math.min(jobs.length, commands.length)).to.be.above(5);
    const subjects = new Set(jobs.map((name) => name.split('.')[0] as string));
    const others: readonly string[] = [...WEBHOOK_EVENT_TYPES, ...ALL_TASK_KINDS.map(({ name }) => name)];
    const unknown = documents
      .filter((path) => path !== 'CHANGELOG.md')
      .flatMap((path) => {
        const text = read(path);
        const namedJobs = [...text.matchAll(/`(([a-zA-Z]+)\.[a-zA-Z]+)`/g)]
          .filter(([, name = '', subject = '']) => subjects.has(subject) && !/\.(?:tsx?|md|log)$/.test(name))
          .map(([, name = '']) => name);
        const namedCommands = [...text.matchAll(/(?:npm run admin --|cli\/admin\/main\.[jt]s) ([a-z][a-z-]*)/g)];
        return [
          ...namedJobs.filter((name) => !jobs.includes(name) && !others.includes(name)),
          ...namedCommands.map(([, name]) => name).filter((name) => !commands.includes(name)),
        ].map((name) => `${path}: ${name}`);
      });
    expect(unknown).to.deep.equal([]);
  });

  it('describes every environment variable in docs/configuration.md and .env.example, and no other', () => {
    const variables = [...listVariables(), ...LOCAL_VARIABLES];
    expect(variables.length).to.be.above(60);
    const rows = [...read('docs/configuration.md').matchAll(/^\| (`[A-Z][^|]*) \|/gm)].map(([, cell = '']) => cell);
    const documented = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name = '']) => name));
    expect(documented).to.have.members(variables);
    const example = [...read('.env.example').matchAll(/^([A-Z][A-Z0-9_]+)=/gm)].map(([, name = '']) => name);
    expect(example).to.have.members(variables);
  });

  it('explains in docs/credits.md every reason why automatic top-ups are switched off, and no other', () => {
    const [, table = ''] =
      /^\| `auto_topup_problem` \| Cause \|\n\|[-|]+\n((?:\|.*\n)+)/m.exec(read('docs/credits.md')) ?? [];
    const explained = [...table.matchAll(/^\| `(\w+)` \| \S/gm)].map(([, reason]) => reason);
    const { other: _, ...reasons } = TOPUP_REASONS;
    expect(explained).to.have.members(Object.keys(reasons));
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = documents.flatMap((path) =>
      [...read(path).matchAll(/npm run (?:--silent |-s )?([a-z][\w:-]*)/g)].map(([, name = '']) => ({ path, name })),
    );
    expect(named.filter(({ name }) => scripts[name] === undefined)).to.deep.equal([]);
  });

  const pagesAboutSecurity = ['docs/security.md', 'docs/security-features.md'].map(read);

  it('names only tests that exist in the pages about security, by words of their titles', () => {
    const named = pagesAboutSecurity.flatMap((text) => [...text.matchAll(NAMED_TESTS)]);
    const titles = named.flatMap(([, file = '', list = '']) =>
      [...list.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
    );
    expect(titles.length).to.be.above(300);
    const missing = titles.filter(({ file, title }) => !read(`test/${file}.test.ts`).includes(title));
    expect(missing).to.deep.equal([]);
  });

  it('names the titles of tests in each row about a protection', () => {
    const rows = pagesAboutSecurity
      .flatMap((text) => [...text.matchAll(/^\|.*\| Test \|\n\|[-|]+\n((?:\|.*\n)+)/gm)])
      .flatMap(([, body = '']) => body.trim().split('\n'));
    expect(rows.length).to.be.above(100);
    const incomplete = rows.filter((row) => {
      const files = row.match(new RegExp(TEST_FILE, 'g')) ?? [];
      return files.length === 0 || files.length !== [...row.matchAll(NAMED_TESTS)].length;
    });
    expect(incomplete).to.deep.equal([]);
  });

  it('keeps the README short enough to read at once', () => {
    expect(read('README.md').split('\n').length).to.be.at.most(README_LINES_MAX);
  });
});

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { IMAGE_ASPECT_RATIOS, IMAGE_RESOLUTIONS, MODELS, priceInCredits } from '../shared/spec/catalog.ts';
import { VIDEO_ASPECT_RATIOS, VIDEO_DURATIONS_SECONDS, VIDEO_RESOLUTIONS } from '../shared/spec/catalog.ts';
import { ERROR_STATUS } from '../shared/spec/errors.ts';
import * as limits from '../shared/spec/limits.ts';
import { PLANS } from '../shared/spec/plans.ts';
import { GENERATION_STATUSES, LEDGER_ENTRY_TYPES, MODEL_STATUSES, ONBOARDING_STEPS } from '../shared/spec/states.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Folders that are deployed. */
const DEPLOYED = ['api', 'worker', 'shared', 'migrations'];
/** Layers of `shared`: each imports only itself and those before it. */
const LAYERS = ['spec', 'lib', 'queues', 'tables', 'gateways', 'domain'];
/** File names that do not describe their contents. */
const BANNED_FILE_NAMES = ['util', 'utils', 'helper', 'helpers', 'common', 'manager'];
const SETTINGS = 'shared/lib/configVariables.ts';
/** Main modules, which read the environment and pass it to `parseConfig`. */
const PROGRAMS = [
  'api/main.ts',
  'api/oauth/rotateKeys.ts',
  'migrations/main.ts',
  'worker/cli/admin/main.ts',
  'worker/cli/check/main.ts',
  'worker/main.ts',
];

/** The endpoint tables of the specification: method, path, credential. */
const ENDPOINTS = `
  POST   /api/generations/create/              key/cookie
  GET    /api/generations/                     key/cookie
  GET    /api/generations/:uuid/               key/cookie
  DELETE /api/generations/:uuid/               key/cookie
  GET    /api/models/                          public
  POST   /api/keys/create/                     key/cookie
  GET    /api/keys/                            key/cookie
  POST   /api/keys/:uuid/revoke/               key/cookie
  GET    /api/usage/summary/                   key/cookie
  GET    /api/ledger/                          key/cookie
  GET    /api/billing/plans/                   public
  GET    /api/billing/status/                  key/cookie
  POST   /api/billing/checkout/                key/cookie
  POST   /api/billing/portal/                  key/cookie
  GET    /api/billing/topup/settings/          key/cookie
  PATCH  /api/billing/topup/settings/          key/cookie
  POST   /api/billing/topup/                   key/cookie
  POST   /api/billing/webhooks/processor/      public
  GET    /api/admin/metrics/                   staff
  POST   /api/affiliate/enroll/                key/cookie
  GET    /api/affiliate/status/                key/cookie
  POST   /api/affiliate/onboarding-link/       key/cookie
  GET    /api/health/                          public
  GET    /authentication/social/config/        public
  GET    /authentication/me/                   cookie
  PATCH  /authentication/me/                   cookie
  POST   /authentication/logout/               cookie
  POST   /authentication/onboarding/advance/   cookie
  GET    /.well-known/oauth-protected-resource     public
  GET    /.well-known/oauth-authorization-server   public
  GET    /authorize                            visitor
  POST   /authorize                            visitor
  POST   /token                                public
  POST   /register                             public
  GET    /jwks.json                            public
  POST   /mcp                                  token/key
  GET    /mcp                                  token/key
  DELETE /mcp                                  token/key
`;

/** Beyond the specification: sign-in, pages, where outputs are served, and the local sign-in. */
const OWN_ENDPOINTS = `
  GET    /authentication/social/:provider/start     visitor
  GET    /authentication/social/:provider/callback  landing
  POST   /authentication/social/:provider/callback  landing
  GET    /                                     visitor
  GET    /sign-in                              visitor
  POST   /sign-in                              visitor
  GET    /account/                             member
  GET    /account/plan/                        member
  POST   /account/plan/                        member
  GET    /account/portal/                      member
  POST   /account/portal/                      member
  GET    /account/profile/                     member
  POST   /account/profile/                     member
  GET    /account/keys/                        member
  POST   /account/keys/                        member
  GET    /account/keys/:uuid/revoke/           member
  POST   /account/keys/:uuid/revoke/           member
  GET    /account/applications/:uuid/end/      member
  POST   /account/applications/:uuid/end/      member
  POST   /account/identities/:provider/link/   member
  GET    /account/identities/:uuid/remove/     member
  POST   /account/identities/:uuid/remove/     member
  POST   /account/sessions/:uuid/end/          member
  GET    /account/sessions/end-others/         member
  POST   /account/sessions/end-others/         member
  GET    /account/affiliate/                   member
  POST   /account/affiliate/                   member
  GET    /account/payouts/                     member
  POST   /account/payouts/                     member
  GET    /account/payouts/again                member
  GET    /account/payouts/returned             member
  GET    /account/sign-out/                    member
  POST   /account/sign-out/                    member
  GET    /r/:code                              visitor
  GET    /assets/style.css                     public
  GET    /api/ready/                           public
  GET    /admin/                               operator
  POST   /revoke                               public
  GET    /.well-known/oauth-protected-resource/mcp     public
  GET    /.well-known/oauth-authorization-server/mcp   public
  GET    /media/:shard/:token/:file            public
  GET    /api/openapi.json                     public
  GET    /api/docs/                            public
  GET    /api/docs/:file                       public
  POST   /authentication/dev/sign-in/          public
`;

/** Names in the tables above of the authentication column of `api/router.ts`. */
const CREDENTIALS: Record<string, string> = {
  none: 'public',
  account: 'key/cookie',
  deferredKey: 'key/cookie',
  session: 'cookie',
  optionalSession: 'visitor',
  pageSession: 'member',
  oauthCallback: 'landing',
  staff: 'staff',
  staffSession: 'operator',
  mcp: 'token/key',
};

interface Source {
  /** From the root of the project, with forward slashes. */
  path: string;
  text: string;
  /** The files of the project that it imports, and the packages. */
  imports: string[];
}

function readSources(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|mts|mjs|cjs|js)$/.test(entry.name))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const specifiers = [...text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"]([^'"]+)['"]/g)].map(
        ([, name = '']) => name,
      );
      const imports = specifiers.map((name) =>
        name.startsWith('.') ? relative(ROOT, join(dirname(file), name)) : name,
      );
      return { path: relative(ROOT, file), text, imports };
    });
}

const sources = DEPLOYED.flatMap(readSources);

/** `shared/lib/redisProbe.ts` consists of `redis` and `probe`. */
function splitIntoWords(path: string): string[] {
  const words = basename(path)
    .replace(/\.\w+$/, '')
    .split(/(?=[A-Z])|[-_.]/);
  return words.map((word) => word.toLowerCase());
}

/** The rows of a table above, with one space between the columns. */
function parseRows(table: string): string[] {
  const lines = table.trim().split('\n');
  return lines.map((line) => line.trim().split(/\s+/).join(' '));
}

/** Returns whether a range such as `^18 || >=20.19` includes Node 20.19. */
function acceptsNode20(range: string): boolean {
  return range.split('||').some((part) => {
    const [, operator = '', major = '0', minor = '0'] = /^\s*v?(\D*?)\s*v?(\d+)(?:\.(\d+))?/.exec(part) ?? [];
    const isReached = Number(major) < 20 || (Number(major) === 20 && Number(minor) <= 19);
    return operator === '>=' || operator === '>' || !/\d/.test(part) ? isReached : major === '20' && isReached;
  });
}

/** The imports that break a rule, as `file -> import`. */
function findImports(from: (path: string) => boolean, to: (imported: string) => boolean): string[] {
  return sources
    .filter(({ path }) => from(path))
    .flatMap(({ path, imports }) => imports.filter(to).map((imported) => `${path} -> ${imported}`));
}

const isUnder =
  (...folders: string[]) =>
  (path: string) =>
    folders.some((folder) => path.startsWith(`${folder}/`));

describe('the architecture', () => {
  describe('imports', () => {
    it('finds the imports that it checks', () => {
      expect(findImports(isUnder('api'), isUnder('shared')).length).to.be.above(20);
      expect(findImports(isUnder('shared'), isUnder('shared')).length).to.be.above(50);
    });

    it('api and worker never import each other, and nothing shared imports them', () => {
      expect(findImports(isUnder('api'), isUnder('worker', 'migrations'))).to.deep.equal([]);
      expect(findImports(isUnder('worker'), isUnder('api', 'migrations'))).to.deep.equal([]);
      expect(findImports(isUnder('shared', 'migrations'), isUnder('api', 'worker'))).to.deep.equal([]);
      expect(findImports(isUnder('shared'), isUnder('migrations'))).to.deep.equal([]);
    });

    it('nothing that is deployed imports dev or test', () => {
      expect(findImports(() => true, isUnder('dev', 'test'))).to.deep.equal([]);
    });

    for (const [index, layer] of LAYERS.entries()) {
      it(`shared/${layer} imports only ${['itself', ...LAYERS.slice(0, index)].join(', ')}`, () => {
        const later = LAYERS.slice(index + 1).map((name) => `shared/${name}`);
        expect(findImports(isUnder(`shared/${layer}`), isUnder(...later))).to.deep.equal([]);
      });
    }

    it('shared contains exactly the documented layers', () => {
      const layers = readdirSync(join(ROOT, 'shared'), { withFileTypes: true });
      // `service.ts` opens and closes the modules of these layers.
      expect(layers.map(({ name }) => name)).to.have.members([...LAYERS, 'service.ts']);
    });

    it('affiliates does not import billing, and domain/payments imports neither', () => {
      expect(findImports(isUnder('shared/domain/affiliates'), isUnder('shared/domain/billing'))).to.deep.equal([]);
      expect(
        findImports(isUnder('shared/domain/payments'), isUnder('shared/domain/billing', 'shared/domain/affiliates')),
      ).to.deep.equal([]);
    });

    it('there are no import cycles', () => {
      const importsOf = new Map(sources.map(({ path, imports }) => [path, imports]));
      const cycles = new Set<string>();
      const cleared = new Set<string>();
      const walk = (path: string, trail: string[]) => {
        if (trail.includes(path)) cycles.add([...trail.slice(trail.indexOf(path)), path].join(' -> '));
        if (trail.includes(path) || cleared.has(path)) return;
        for (const imported of importsOf.get(path) ?? []) walk(imported, [...trail, path]);
        cleared.add(path);
      };
      for (const { path } of sources) walk(path, []);
      expect([...cycles]).to.deep.equal([]);
    });
  });

  describe('conventions', () => {
    it('api and worker contain no SQL', () => {
      expect(
        findImports(isUnder('api', 'worker'), (imported) => ['knex', 'objection', 'pg'].includes(imported)),
      ).to.deep.equal([]);
      const statements = sources
        .filter(({ path }) => isUnder('api', 'worker')(path))
        .filter(({ text }) =>
          /import\s*\{[^}]*\b(runStatement|prepared|createPool|openDatabase)\b[^}]*\}\s*from\s*'[^']*lib\/db\.ts'/.test(
            text,
          ),
        );
      expect(statements.map(({ path }) => path)).to.deep.equal([]);
      const queries = sources.filter(
        ({ path, text }) => isUnder('api', 'worker')(path) && /\bdb\.(?!destroy\b|ts\b)|\bdb\(|\.query\(/.test(text),
      );
      expect(queries.map(({ path }) => path)).to.deep.equal([]);
    });

    it('the Procfile starts built programs, each with a memory limit', () => {
      const lines = readFileSync(join(ROOT, 'Procfile'), 'utf8').trim().split('\n');
      expect(lines.map((line) => line.split(':')[0])).to.deep.equal(['release', 'web', 'worker']);
      for (const line of lines) {
        const main = /dist\/(\S+)\.js$/.exec(line)?.[1];
        expect(
          sources.some(({ path }) => path === `${main}.ts`),
          line,
        ).to.equal(true);
        if (!line.startsWith('release')) expect(line).to.match(/--max-old-space-size=\d+/);
      }
    });

    it('only the API has an HTTP health check, which compose.yaml defines and the image does not', () => {
      expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).to.not.match(/^HEALTHCHECK/m);
      const services = readFileSync(join(ROOT, 'compose.yaml'), 'utf8').split(/^services:$/m)[1] ?? '';
      const asking = services.split(/^ {2}(?=\w+:$)/m).filter((text) => text.includes('/api/health/'));
      expect(asking.map((text) => text.split(':')[0])).to.deep.equal(['api']);
    });

    it('app.json lists every Stripe setting, and only settings that exist', () => {
      const env = Object.keys(JSON.parse(readFileSync(join(ROOT, 'app.json'), 'utf8')).env as object);
      const config = readFileSync(join(ROOT, SETTINGS), 'utf8');
      const settings = [...config.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name = '']) => name);
      expect(env.filter((name) => !settings.includes(name) && name !== 'PGSSLMODE')).to.deep.equal([]);
      const ofStripe = settings.filter((name) => name.startsWith('STRIPE_') && name !== 'STRIPE_API_BASE');
      expect(ofStripe).to.include('STRIPE_CONNECT_WEBHOOK_SECRET');
      expect(env).to.include.members(ofStripe);
    });

    it('tables are defined in shared/tables only', () => {
      const tables = sources.filter(({ text }) => /\bextends Model\b/.test(text)).map(({ path }) => path);
      expect(tables.filter((path) => !isUnder('shared/tables')(path))).to.deep.equal([]);
    });

    it('process.env is read by main modules only, and each passes it to parseConfig', () => {
      const readers = sources.filter(
        ({ text, imports }) => /\bprocess\s*(\.|\?\.|\[)\s*['"]?env\b/.test(text) || imports.includes('node:process'),
      );
      // The one that strips it for a child process: it passes on where programs and libraries are, and no setting.
      const stripping = 'shared/gateways/media/decoderEnvironment.ts';
      expect(readers.map(({ path }) => path)).to.have.members([...PROGRAMS, stripping]);
      for (const { text } of readers.filter(({ path }) => path !== stripping)) {
        expect(text.replaceAll(/(parseConfig|openCommandService)\(process\.env\b/g, '')).to.not.include('process.env');
      }
    });

    it('importing a module has no effect: no error without a configuration, no output, nothing left open', () => {
      const modules = sources.map(({ path }) => path).filter((path) => !PROGRAMS.includes(path));
      const imported = modules.filter((path) => !/thumbnailProcess|\.d\.ts$/.test(path));
      const script = `for (const path of ${JSON.stringify(imported)}) await import('./' + path);`;
      const child = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
        cwd: ROOT,
        env: { PATH: process.env['PATH'] },
        encoding: 'utf8',
        timeout: 60_000,
      });
      // A handle that was left open would keep it from ending by itself.
      expect([child.status, child.stdout, child.stderr]).to.deep.equal([0, '', '']);
    });

    it('every package of the lockfile accepts the oldest Node that this project supports', () => {
      const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
        packages: Record<string, { engines?: { node?: string }; optional?: boolean }>;
      };
      // js-redis-server and lua-redis-wasm declare Node 22 and run on 20.19 (`e2e/redisFallback` tests it). Their
      // entries are relaxed by hand, since npm has no other way to accept them without a warning.
      const refused = Object.entries(packages)
        .filter(([, { engines, optional }]) => optional !== true && !acceptsNode20(engines?.node ?? '*'))
        .map(([name]) => name);
      expect(refused).to.deep.equal([]);
    });

    it('file names describe the contents of the file', () => {
      const named = sources.filter(({ path }) => splitIntoWords(path).some((word) => BANNED_FILE_NAMES.includes(word)));
      expect(named.map(({ path }) => path)).to.deep.equal([]);
    });

    it('paths have at most five segments', () => {
      expect(sources.map(({ path }) => path).filter((path) => path.split('/').length > 5)).to.deep.equal([]);
    });
  });

  describe('the specification', () => {
    it('the router contains every specified route with its credentials, and no other', () => {
      const router = readFileSync(join(ROOT, 'api/router.ts'), 'utf8');
      const entries = [...router.matchAll(/^ {2}\['([A-Z]+)',\s*'([^']+)',\s*'([^']+)',/gm)];
      const routes = entries.map(
        ([, method = '', path = '', credentials = '']) => `${method} ${path} ${CREDENTIALS[credentials]}`,
      );
      expect(routes).to.have.members([...parseRows(ENDPOINTS), ...parseRows(OWN_ENDPOINTS)]);
    });

    it('docs/security.md quotes titles of existing tests', () => {
      const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
      const named = [...text.matchAll(/`((?:contract|e2e|flows|unit)\/\w+)`: ("[^"]+"(?:, "[^"]+")*)/g)];
      const titles = named.flatMap(([, file = '', list = '']) =>
        [...list.matchAll(/"([^"]+)"/g)].map(([, title = '']) => ({ file, title })),
      );
      expect(titles.length).to.be.above(100);
      const missing = titles.filter(
        ({ file, title }) => !readFileSync(join(ROOT, `test/${file}.test.ts`), 'utf8').includes(title),
      );
      expect(missing).to.deep.equal([]);
    });

    it('the error codes have the specified statuses, and internal_error is the only other code', () => {
      expect(ERROR_STATUS).to.deep.equal({
        validation_error: 400,
        invalid_api_key: 401,
        insufficient_credits: 402,
        subscription_required: 402,
        admin_required: 403,
        not_found: 404,
        parallel_limit_reached: 409,
        rate_limited: 429,
        model_unavailable: 503,
        internal_error: 500,
      });
    });

    it('the states are the specified ones, in order', () => {
      expect(GENERATION_STATUSES).to.deep.equal(['queued', 'succeeded', 'failed']);
      expect(MODEL_STATUSES).to.deep.equal(['online', 'degraded', 'offline']);
      expect(LEDGER_ENTRY_TYPES).to.deep.equal(['grant', 'burn', 'refund', 'rollover', 'expiry', 'topup']);
      expect(ONBOARDING_STEPS).to.deep.equal(['profile', 'plan', 'complete']);
    });

    it('the limits have the specified or decided values', () => {
      expect({ ...limits }).to.deep.include({
        PAGE_SIZE: 20,
        PROMPT_MAX_CHARACTERS: 2_500,
        API_KEY_NAME_MAX_CHARACTERS: 64,
        ACTIVE_API_KEYS_MAX: 20,
        API_KEY_PREFIX_CHARACTERS: 12,
        API_KEY_LAST_USED_INTERVAL_MS: 60_000,
        SESSION_DAYS: 30,
        REFRESH_INTERVAL_MS: 2_000,
        REFRESH_WAIT_MS: 1_000,
        GENERATION_DEADLINE_MS: { video: 30 * 60_000, image: 10 * 60_000 },
        UNCONFIRMED_SUBMITS_MAX: 1,
        PROBE_STALE_MS: 45_000,
        FAILED_PROBES_TO_DEGRADE: 1,
        FAILED_PROBES_TO_OFFLINE: 3,
        GOOD_PROBES_TO_ONLINE: 2,
        IDEMPOTENCY_KEY_RETENTION_MS: 24 * 3_600_000,
        IDEMPOTENCY_KEY_MAX_CHARACTERS: 255,
        TOPUP_MIN_CENTS: 5_000,
        TOPUP_MAX_CENTS: 1_000_000,
        AUTO_TOPUP_INTERVAL_MS: 3_600_000,
        AUTO_TOPUP_DECLINES_MAX: 3,
        PAST_DUE_GRACE_DAYS: 14,
        COMMISSION_PERCENT: 30,
        REFERRAL_WINDOW_DAYS: 30,
        COMMISSION_PENDING_DAYS: 30,
        AFFILIATE_STATUS_MONTHS: 12,
        USAGE_HISTORY_DAYS: 30,
      });
    });

    it('the plans have the specified prices, credits and parallel limits, and a year costs twelve months', () => {
      const table = PLANS.map((plan) => [plan.slug, plan.priceMonthlyCents, plan.monthlyCredits, plan.parallelLimit]);
      expect(table).to.deep.equal([
        ['lite', 600, 200, 2],
        ['starter', 1200, 400, 3],
        ['pro', 2900, 1100, 5],
        ['studio', 7500, 3000, 8],
      ]);
      for (const plan of PLANS) expect(plan.priceYearlyCents).to.equal(12 * plan.priceMonthlyCents);
    });

    it('the models have the specified parameters and prices', () => {
      expect([VIDEO_DURATIONS_SECONDS, VIDEO_RESOLUTIONS, VIDEO_ASPECT_RATIOS]).to.deep.equal([
        [5, 10],
        ['720p', '1080p'],
        ['16:9', '9:16'],
      ]);
      expect([IMAGE_RESOLUTIONS, IMAGE_ASPECT_RATIOS]).to.deep.equal([
        ['1K', '2K', '4K'],
        ['16:9', '1:1', '9:16'],
      ]);
      const base = MODELS.map(({ slug, name, creditsBase }) => [slug, name, creditsBase]);
      expect(base).to.deep.equal([
        ['vidmodel-video', 'Video model', 35],
        ['imgmodel-2', 'Image model', 8],
      ]);
      expect(priceInCredits({ duration: 10, resolution: '720p', audio: false, aspect_ratio: '16:9' })).to.equal(70);
    });
  });
});

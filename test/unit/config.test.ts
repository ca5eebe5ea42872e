import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { parseConfig } from '../../shared/lib/config.ts';
import { getInsecureModeWarning } from '../../shared/lib/listenSettings.ts';
import { findProgram } from '../harness/builtPrograms.ts';
import { getConfigError, GOOD } from '../harness/configErrors.ts';
import { PRODUCTION_ENV } from '../harness/testConfig.ts';

/** Address of a database with a password. */
const address = (password: string) => `postgres://user:${password}@host/name`;

const warned = (env: Record<string, string | undefined>) => getInsecureModeWarning(parseConfig({ ...GOOD, ...env }));

describe('the configuration', () => {
  const bad: [string, string | undefined][] = [
    ['DATABASE_URL', undefined],
    ['DATABASE_URL', ''],
    ['DATABASE_URL', 'mysql://host/name'],
    ['DATABASE_URL', 'postgres://user@a,b/name?target_session_attrs=read-write'],
    ['DATABASE_URL', 'postgres://user:pass@a:5432,b:5432/name'],
    ['DATABASE_URL', 'postgres://user@/name?host=a%2Cb'],
    ['DATABASE_URL', address('unescaped#')],
    ['REDIS_URL', undefined],
    ['REDIS_URL', 'http://host'],
    ['REDIS_URL', 'redis://host:port'],
    ['REDIS_URL', 'redis+sentinel://host:26379'],
    ['REDIS_URL', 'redis+cluster://host:6379/1'],
    ['DRAIN_MS', '-1'],
    ['REDIS_PREFIX', 'with space'],
    ['REDIS_TLS', 'off'],
    ['REDIS_PREFIX', '{brace}'],
    ['NODE_ENV', 'staging'],
    ['LOG_LEVEL', 'loud'],
    ['PORT', 'abc'],
    ['RATE_OAUTH_PER_MINUTE', '0'],
    ['OAUTH_CLIENT_DOCUMENT_HOST', 'https://host:1'],
    ['PORT', '-1'],
    ['PORT', '65536'],
    ['PORT', '1.5'],
    ['BASE_URL', 'example.com'],
    ['BASE_URL', 'ftp://example.com'],
    ['BASE_URL', 'https://'],
    ['BASE_URL', 'https://['],
    ['BASE_URL', 'http://localhost/path'],
    ['BASE_URL', 'http://localhost/?a=b'],
    ['BASE_URL', 'http://localhost/#a'],
    ['BASE_URL', 'http://user@localhost'],
    ['CDN_URL', 'cdn'],
    ['TRUSTED_PROXIES', 'on'],
    ['TRUSTED_PROXIES', '-1'],
    ['DATABASE_POOL_MAX', '1'],
    ['DATABASE_TIMEOUT_MS', '0'],
    ['MEDIA_MAX_BYTES', '1'],
    ['MEDIA_S3_BUCKET', 'with space'],
    ['MEDIA_S3_ENDPOINT', 'minio:9000'],
    ['MEDIA_S3_PREFIX', '/outputs/'],
    ['VIDEO_UPSTREAM', 'fal'],
    ['IMAGE_UPSTREAM_FALLBACK', 'Fal:x'],
    ['OPENAI_BASE_URL', 'localhost:8000'],
    ['REPLICATE_BASE_URL', 'https://['],
    ['UPSTREAMS', 'no-such-file.json'],
    ['UPSTREAM_SYNC_TIMEOUT_MS', '0'],
    ['PROBE_INTERVAL_MS', '60000'],
    ['FAL_BASE_URL', 'queue.fal.run'],
    ['UPSTREAM_TIMEOUT_MS', 'soon'],
    ['UPSTREAM_CONCURRENCY', '0'],
    ['WORKER_CONCURRENCY', '0'],
    ['SWEEP_INTERVAL_MS', '1'],
    ['MCP_ALLOWED_ORIGINS', 'studio.example'],
    ['OAUTH_CLIENT_METADATA_DOCUMENTS', 'sometimes'],
    ['HTTPS_PROXY', 'proxy.example:3128'],
    ['HTTPS_PROXY', 'socks5://proxy.example:1080'],
    ...['200', '0/day', '200/total', '200/week', '1.5/day', '-200/day', 'day/200'].map((limit): [string, string] => [
      'APPLICATION_SPENDING_LIMIT',
      limit,
    ]),
    ['RATE_LIMITS', 'true'],
    ['WEBHOOK_ADDRESSES', 'private'],
    ['RATE_CREATES_PER_MINUTE', '0'],
    ['RATE_PAYMENTS_PER_MINUTE', '0'],
    ['RATE_REQUESTS_PER_MINUTE', '-5'],
    ['RATE_PUBLIC_PER_MINUTE', 'many'],
    ['STRIPE_SECRET_KEY', 'pk_test_1'],
    ['STRIPE_WEBHOOK_SECRET', 'secret'],
    ['STRIPE_PRICE_PRO', 'prod_1'],
    ['STRIPE_API_BASE', 'localhost:1'],
    ['STRIPE_TAX', 'true'],
    ['STRIPE_TAX', 'on'],
    ['STRIPE_PROMOTION_CODES', 'yes'],
    ['STRIPE_PROMOTION_CODES', 'on'],
    ['GOOGLE_ISSUER', 'accounts.google.com'],
    ['APPLE_ISSUER', 'https://['],
    ['GITHUB_BASE_URL', 'github.com'],
    ['GITHUB_API_BASE_URL', 'ftp://api.github.com'],
    ['SIGN_IN_TIMEOUT_MS', '0'],
  ];
  for (const [name, value] of bad) {
    it(`rejects ${name} ${value === undefined ? 'missing' : `"${value}"`} with a sentence that names the variable`, () => {
      expect(getConfigError({ [name]: value })).to.match(new RegExp(`^${name} .+\\.$`));
    });
  }

  it('requires CDN_URL and both access keys together with a bucket', () => {
    const bucket = { MEDIA_S3_BUCKET: 'outputs' };
    expect(getConfigError(bucket)).to.match(/^CDN_URL is not set: with MEDIA_S3_BUCKET /);
    const half = { ...bucket, CDN_URL: 'https://cdn.example', MEDIA_S3_ACCESS_KEY_ID: 'id' };
    expect(getConfigError(half)).to.match(/^MEDIA_S3_SECRET_ACCESS_KEY is not set/);
  });

  it('reports all invalid variables at once', () => {
    const sentences = getConfigError({ PORT: 'x', RATE_LIMITS: 'y', REDIS_URL: 'z' });
    for (const name of ['PORT', 'RATE_LIMITS', 'REDIS_URL']) expect(sentences).to.include(name);
  });

  it('accepts a comma in the password of DATABASE_URL', () => {
    expect(getConfigError({ DATABASE_URL: 'postgres://user:a,b@host/name?application_name=a,b' })).to.equal('');
  });

  it('does not repeat secrets in error messages', () => {
    for (const DATABASE_URL of ['mysql://user:secret@host', address('secret#')])
      expect(getConfigError({ DATABASE_URL }))
        .to.match(/^DATABASE_URL /)
        .and.not.include('secret');
  });

  it('rejects production without Stripe, where plans would be free', () => {
    expect(getConfigError({ NODE_ENV: 'production' })).to.match(/NODE_ENV=production requires it/);
  });

  it('rejects a public https address without Stripe, where plans would be free', () => {
    expect(getConfigError({ BASE_URL: 'https://a.example' })).to.match(
      /^STRIPE_SECRET_KEY is not set: .+ public BASE_URL/,
    );
    for (const BASE_URL of ['https://localhost:3000', 'https://127.0.0.1', 'https://[::1]', 'http://a.example']) {
      expect(getConfigError({ BASE_URL }), BASE_URL).to.equal('');
    }
  });

  it('rejects OAUTH_CLIENT_DOCUMENT_HOST in production', () => {
    expect(getConfigError({ OAUTH_CLIENT_DOCUMENT_HOST: '127.0.0.1:8080' })).to.equal('');
    expect(getConfigError({ NODE_ENV: 'production', OAUTH_CLIENT_DOCUMENT_HOST: '127.0.0.1:8080' })).to.match(
      /^OAUTH_CLIENT_DOCUMENT_HOST must not be set/,
    );
  });

  it('rejects WEBHOOK_ADDRESSES=any in production', () => {
    expect(getConfigError({ WEBHOOK_ADDRESSES: 'any' })).to.equal('');
    expect(getConfigError({ NODE_ENV: 'production', WEBHOOK_ADDRESSES: 'any' })).to.match(
      /^WEBHOOK_ADDRESSES must be public/,
    );
  });

  it('rejects a Stripe API address without TLS in production', () => {
    expect(getConfigError({ STRIPE_API_BASE: 'http://127.0.0.1:8080' })).to.equal('');
    expect(getConfigError({ NODE_ENV: 'production', STRIPE_API_BASE: 'http://127.0.0.1:8080' })).to.match(
      /^STRIPE_API_BASE must begin with https/,
    );
  });

  it('warns when other machines can reach a mode with unprotected sign-in', () => {
    for (const env of [{ HOST: '0.0.0.0' }, { HOST: '::' }, { NODE_ENV: 'test', HOST: '10.0.0.5' }]) {
      expect(warned(env)).to.match(/^NODE_ENV is \w+ and HOST \S+ is open .+ Set NODE_ENV=production, .+\.$/);
    }
    expect(warned({})).to.equal(undefined);
    for (const HOST of ['127.0.0.1', '127.8.0.1', '::1', 'localhost']) expect(warned({ HOST })).to.equal(undefined);
  });

  describe('in production', () => {
    const production = PRODUCTION_ENV;

    it('rejects secrets that can be guessed, with the name of the variable', () => {
      const known = [
        'genmeter-genmeter',
        'change-me-change-me',
        'a'.repeat(40),
        'my-secret-key-2026',
        '0123456789abcdef-password',
      ];
      for (const SECRET_KEY of known)
        expect(getConfigError({ ...production, SECRET_KEY }), SECRET_KEY).to.match(/^SECRET_KEY can be guessed: /);
      for (const DATABASE_URL of [address('genmeter'), address('8f2kq71z'), 'postgres://user@host/name'])
        expect(getConfigError({ ...production, SECRET_KEY: undefined, DATABASE_URL }), DATABASE_URL).to.match(
          /^SECRET_KEY is not set, and the password in DATABASE_URL, which is used instead, can be guessed: /,
        );
      for (const DATABASE_URL of [address('genmeter'), address('8f2kq71z')])
        expect(getConfigError({ ...production, DATABASE_URL }), DATABASE_URL).to.match(
          /^The password in DATABASE_URL can be guessed: /,
        );
      // The driver accepts a password that is not percent-encoded, and an address without a host.
      for (const DATABASE_URL of [address('c94be7350b1cf8d%ss'), 'postgres://user:c94be7350b1cf8d2@/name?host=/tmp'])
        expect(getConfigError({ ...production, SECRET_KEY: undefined, DATABASE_URL }), DATABASE_URL).to.equal('');
      // The database may identify the service by other means.
      expect(getConfigError({ ...production, DATABASE_URL: 'postgres://user@host/name' })).to.equal('');
      const DATABASE_URL = address('c94be7350b1cf8d27ae9');
      expect(getConfigError({ ...production, DATABASE_URL })).to.equal('');
      expect(getConfigError({ ...production, SECRET_KEY: undefined, DATABASE_URL })).to.equal('');
      expect(getConfigError({ DATABASE_URL: address('genmeter') })).to.equal('');
    });

    it('requires METRICS_TOKEN when other machines can read the metrics', () => {
      expect(getConfigError({ ...production, METRICS_PORT: '9100' })).to.match(
        /^METRICS_TOKEN is not set, .+ METRICS_HOST 0\.0\.0\.0 .+ set METRICS_TOKEN, or METRICS_HOST=127\.0\.0\.1\.$/,
      );
      for (const METRICS_HOST of ['10.0.0.5', '::', '127.example']) {
        expect(getConfigError({ ...production, METRICS_PORT: '9100', METRICS_HOST })).to.match(
          /^METRICS_TOKEN is not set/,
        );
      }
      const METRICS_TOKEN = 'a-token-of-the-scraper';
      expect(getConfigError({ ...production, METRICS_PORT: '9100', METRICS_TOKEN })).to.equal('');
      expect(getConfigError({ ...production, METRICS_PORT: '9100', METRICS_HOST: '127.0.0.1' })).to.equal('');
      expect(getConfigError(production)).to.equal('');
      expect(getConfigError({ METRICS_PORT: '9100' })).to.equal('');
    });

    it('rejects Stripe test keys', () => {
      for (const STRIPE_SECRET_KEY of ['sk_test_1', 'rk_test_1']) {
        expect(getConfigError({ ...production, STRIPE_SECRET_KEY })).to.match(/^STRIPE_SECRET_KEY is a test key/);
      }
      expect(getConfigError({ ...production, STRIPE_SECRET_KEY: 'rk_live_1' })).to.equal('');
    });

    it('logs no insecure mode warning', () => {
      expect(getInsecureModeWarning(parseConfig({ ...GOOD, ...production }))).to.equal(undefined);
    });
  });

  it('treats an empty or blank variable as unset', () => {
    expect(parseConfig({ ...GOOD, PORT: ' ', RATE_LIMITS: '', CDN_URL: '' })).to.include({
      PORT: 3000,
      RATE_LIMITS: 'on',
    });
  });

  it('defaults to 60 creates, 60 payment requests and 600 requests a minute per account, and 120 per address', () => {
    expect(parseConfig(GOOD)).to.include({
      RATE_LIMITS: 'on',
      RATE_CREATES_PER_MINUTE: 60,
      RATE_PAYMENTS_PER_MINUTE: 60,
      RATE_REQUESTS_PER_MINUTE: 600,
      RATE_PUBLIC_PER_MINUTE: 120,
    });
  });

  it('derives BASE_URL and CDN_URL from each other and removes trailing slashes', () => {
    expect(parseConfig({ ...GOOD, PORT: '8080' })).to.include({
      BASE_URL: 'http://localhost:8080',
      CDN_URL: 'http://localhost:8080/media',
    });
    expect(parseConfig({ ...GOOD, BASE_URL: 'http://a.example/' })).to.include({
      BASE_URL: 'http://a.example',
      CDN_URL: 'http://a.example/media',
    });
    expect(parseConfig({ ...GOOD, CDN_URL: 'https://cdn.example/x/' })).to.include({
      CDN_URL: 'https://cdn.example/x',
    });
  });

  it('makes a process exit with status 78 and the message on stderr when variables are missing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [findProgram('api')], { env: {}, encoding: 'utf8' });
    expect([status, stdout]).to.deep.equal([78, '']);
    expect(stderr).to.match(/^DATABASE_URL is not set: .+\. REDIS_URL is not set: .+\.\n$/);
  });

  it('contains only database and log variables for staff commands', () => {
    const env = {
      ...GOOD,
      NODE_ENV: 'production',
      STRIPE_SECRET_KEY: 'sk_live_a',
      REDIS_PREFIX: 'own',
      LOG_LEVEL: 'warn',
    };
    expect(() => parseConfig(env)).to.throw('STRIPE_WEBHOOK_SECRET');
    const admin = parseConfig(env, 'admin');
    expect(admin)
      .to.include({ ...GOOD, REDIS_PREFIX: 'own', LOG_LEVEL: 'warn' })
      .and.not.have.property('STRIPE_SECRET_KEY');
    expect(() => parseConfig({ ...env, REDIS_URL: '' }, 'admin')).to.throw('REDIS_URL is not set');
    expect(parseConfig({ DATABASE_URL: GOOD.DATABASE_URL }, 'check').REDIS_URL).to.not.equal(GOOD.REDIS_URL);
    expect(() => parseConfig({}, 'check')).to.throw(/^DATABASE_URL is not set: [^.]+\.$/);
  });

  it('is frozen', () => {
    expect(Object.isFrozen(parseConfig(GOOD))).to.equal(true);
  });
});

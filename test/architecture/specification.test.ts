import { expect } from 'chai';
import { parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import { ERROR_STATUS } from '../../shared/spec/errors.ts';
import * as limits from '../../shared/spec/limits.ts';
import { DEFAULT_PLANS } from '../../shared/spec/plans.ts';
import { GENERATION_STATUSES, LEDGER_ENTRY_TYPES, MODEL_STATUSES, ONBOARDING_STEPS } from '../../shared/spec/states.ts';
import { filterRoutes, ROUTES } from '../harness/routes.ts';

/** The endpoint tables of the specification: method, path, and the credential that a request needs. */
const SPECIFIED_ENDPOINTS = parseRows(`
  POST   /api/generations/create/              key/cookie
  GET    /api/generations/                     key/cookie
  GET    /api/generations/:uuid/               key/cookie
  DELETE /api/generations/:uuid/               key/cookie
  POST   /api/generations/:uuid/cancel/        key/cookie
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
`);

/** Endpoints beyond the specification that need no credential: sign-in, public pages, files, signed addresses. */
const OTHER_OPEN_ENDPOINTS = parseRows(`
  GET    /authentication/social/:provider/start       visitor
  GET    /authentication/social/:provider/callback    link
  POST   /authentication/social/:provider/callback    link
  GET    /                                            visitor
  GET    /models/                                     visitor
  GET    /pricing/                                    visitor
  GET    /docs/                                       visitor
  GET    /docs/:page/                                 visitor
  GET    /sign-in                                     visitor
  POST   /sign-in                                     visitor
  GET    /unsubscribe/:token                          link
  POST   /unsubscribe/:token                          link
  GET    /restore-sign-in/:token                      link
  POST   /restore-sign-in/:token                      link
  GET    /r/:code                                     visitor
  GET    /server.json                                 public
  GET    /llms.txt                                    public
  GET    /downloads/:file                             public
  GET    /assets/:file                                public
  GET    /api/serving/                                public
  GET    /api/ready/                                  public
  POST   /revoke                                      public
  GET    /.well-known/oauth-protected-resource/mcp    public
  GET    /.well-known/oauth-protected-resource/api    public
  GET    /.well-known/oauth-authorization-server/mcp  public
  GET    /media/:shard/:token/:file                   public
  POST   /upstream-events/:token                      public
  POST   /sign-in-events/apple                        public
  PUT    /uploads/:uuid/original                      public
  GET    /uploads/:uuid/:file                         public
  GET    /api/openapi.json                            public
  GET    /api/docs/                                   public
  GET    /api/docs/:file                              public
  POST   /authentication/dev/sign-in/                 public
`);

interface Endpoint {
  /** Method and path. */
  name: string;
  credential: string;
}

function parseRows(table: string): Endpoint[] {
  return [...table.matchAll(/(\S+) +(\S+) +(\S+)/g)].map(([, method, path, credential = '']) => ({
    name: `${method} ${path}`,
    credential,
  }));
}

const toEndpoint = ({ name, credential }: Endpoint): Endpoint => ({ name, credential });

describe('the specification', () => {
  it('the router contains every specified route with its credential', () => {
    expect(ROUTES.map(toEndpoint)).to.include.deep.members(SPECIFIED_ENDPOINTS);
  });

  it('the routes that need no credential are exactly those of the endpoint tables', () => {
    const open = ['public', 'visitor', 'link'] as const;
    const expected = SPECIFIED_ENDPOINTS.filter(({ credential }) => open.some((kind) => kind === credential));
    expect(filterRoutes(...open).map(toEndpoint)).to.have.deep.members([...expected, ...OTHER_OPEN_ENDPOINTS]);
  });

  it('the error codes have the specified statuses, and internal_error, account_suspended, content_rejected, spending_limit_reached and insufficient_scope are the only other codes', () => {
    expect(ERROR_STATUS).to.deep.equal({
      validation_error: 400,
      content_rejected: 400,
      invalid_api_key: 401,
      insufficient_credits: 402,
      subscription_required: 402,
      spending_limit_reached: 402,
      admin_required: 403,
      account_suspended: 403,
      insufficient_scope: 403,
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
    const table = DEFAULT_PLANS.map((plan) => [
      plan.slug,
      plan.priceMonthlyCents,
      plan.monthlyCredits,
      plan.parallelLimit,
    ]);
    expect(table).to.deep.equal([
      ['lite', 600, 200, 2],
      ['starter', 1200, 400, 3],
      ['pro', 2900, 1100, 5],
      ['studio', 7500, 3000, 8],
    ]);
    for (const plan of DEFAULT_PLANS) expect(plan.priceYearlyCents).to.equal(12 * plan.priceMonthlyCents);
  });

  it('the models have the specified parameters and prices', () => {
    const [video, image] = parseCatalog().models;
    expect(video?.paramsSchema).to.deep.equal({
      durations: [5, 10],
      resolutions: ['720p', '1080p'],
      audio: true,
      aspect_ratios: ['16:9', '9:16'],
    });
    expect(image?.paramsSchema).to.deep.equal({
      resolutions: ['1K', '2K', '4K'],
      aspect_ratios: ['16:9', '1:1', '9:16'],
    });
    const base = parseCatalog().models.map(({ slug, name, creditsBase }) => [slug, name, creditsBase]);
    expect(base).to.deep.equal([
      ['vidmodel-video', 'Video model', 35],
      ['imgmodel-2', 'Image model', 8],
    ]);
    const params = { duration: 10, resolution: '720p', audio: false, aspect_ratio: '16:9' };
    expect(video?.price(params)).to.equal(70);
  });
});

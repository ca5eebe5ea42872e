import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type APIRequestContext, type Browser, type BrowserContext, chromium } from 'playwright-core';
import { REPORTS } from '../../shared/domain/reports/index.ts';
import { readCommandLine } from '../../shared/lib/commandLine.ts';
import { findLocalService } from '../../shared/lib/localService.ts';
import { ROOT } from '../local/environment/build.ts';
import { connectTo } from '../local/environment/databases.ts';
import { buildSourceArgs, startProgram } from '../local/environment/program.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import { BROWSER_NAMES, findBrowser } from '../local/findBrowser.ts';
import { findFreePort } from '../local/servers/ports.ts';
import { waitUntil } from '../local/servers/processes.ts';
import { isServiceReady, waitForService } from '../local/stack/serviceProbe.ts';
import { createDemoEndpoints, receivePath, receiveUnsubscribePath } from './demoNotifications.ts';

const USAGE = `npm run screenshots -- [options]

Regenerates docs/images/account.png and docs/images/admin.png from a service that it starts with demo data. It needs
Chromium on the PATH.

  --all <folder>     takes whole pages instead, of every page: light and dark, as wide as a screen and a phone, for a review
  --only <text>      with --all: pages whose path contains the text
  --language <code>  language of the browser and of the accounts, such as de; then only light ones`;

const IMAGES = join(ROOT, 'docs/images');
const STAFF_EMAIL = 'ada@example.com';
const START_TIMEOUT_MS = 180_000;
const IMAGE = { model: 'imgmodel-2', params: { resolution: '1K' } };
const VIDEO = { model: 'vidmodel-video', params: { duration: 5, resolution: '720p' } };

type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

interface DemoCustomer {
  email: string;
  plan: string;
  prompts: { model: string; params: object; prompt: string }[];
}

const CUSTOMERS: DemoCustomer[] = [
  {
    email: STAFF_EMAIL,
    plan: 'pro',
    prompts: [
      { ...IMAGE, prompt: 'A lighthouse at dusk' },
      { ...VIDEO, prompt: 'Waves rolling in below a lighthouse' },
      { ...IMAGE, prompt: 'A harbour in the morning' },
      { ...IMAGE, prompt: 'A map of an island' },
    ],
  },
  { email: 'grace@example.com', plan: 'studio', prompts: [VIDEO, VIDEO, VIDEO, IMAGE, IMAGE].map(withPrompt) },
  { email: 'alan@example.com', plan: 'lite', prompts: [IMAGE, IMAGE].map(withPrompt) },
  { email: 'edsger@example.com', plan: 'starter', prompts: [VIDEO, IMAGE, IMAGE].map(withPrompt) },
  { email: 'barbara@example.com', plan: 'pro', prompts: [VIDEO, IMAGE].map(withPrompt) },
];

/** Pages of an account, and how pages are shown. */
const NAMES = [
  'library',
  'usage',
  'ledger',
  'billing',
  'keys',
  'webhooks',
  'webhooks/default',
  'webhooks/default/rotate',
  'notifications',
  'applications',
  'members',
  'affiliate',
  'settings',
  'security',
  'export',
  'delete',
];
const ACCOUNT_PATHS = ['/account/', ...NAMES.map((name) => `/account/${name}/`)];
const STAFF_PATHS = [
  '/admin/',
  '/admin/incident/',
  '/admin/tasks/',
  '/admin/upstreams/',
  '/admin/runbooks/GenmeterModelOffline/',
  '/admin/accounts/',
  '/admin/accounts/?q=grace@example.com',
  '/admin/audit/',
  '/admin/reports/',
  ...REPORTS.map(({ slug }) => `/admin/reports/${slug}/`),
  '/admin/design/',
];
const VISITOR_PATHS = [
  '/',
  '/models/',
  '/pricing/',
  '/docs/',
  '/docs/webhooks/',
  '/api/docs/',
  '/sign-in',
  '/mcp',
  '/nothing',
];
const VIEWS = [
  { name: 'light', colorScheme: 'light', width: 1280 },
  { name: 'dark', colorScheme: 'dark', width: 1280 },
  { name: 'phone', colorScheme: 'light', width: 390 },
  { name: 'phone-dark', colorScheme: 'dark', width: 390 },
] as const;

const {
  all: reviewFolder,
  language,
  only = '',
} = readCommandLine('npm run screenshots', USAGE, {
  all: { type: 'string' },
  language: { type: 'string' },
  only: { type: 'string' },
});
const CONTEXT = { extraHTTPHeaders: { 'accept-language': language ?? 'en' } };
const folder = createScratchFolder('genmeter-screenshots-');
const port = await findFreePort();
const baseUrl = `http://localhost:${port}`;
const service = startProgram({
  name: 'npm start',
  args: buildSourceArgs('dev/local/start.ts'),
  cwd: ROOT,
  env: { ...process.env, PORT: String(port), DATA_DIR: folder, STAFF_EMAILS: STAFF_EMAIL, STRIPE_SECRET_KEY: '' },
  output: 'inherit',
});
try {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error(`None of ${BROWSER_NAMES.join(', ')} is on the PATH.`);
  const probe = await waitForService(baseUrl, START_TIMEOUT_MS, () => !service.isRunning);
  if (!isServiceReady(probe)) throw new Error('The service did not become ready; see the messages above.');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    await takeScreenshots(browser);
  } finally {
    await browser.close();
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function takeScreenshots(browser: Browser): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  // Customers first, so that the staff pages show their work.
  for (const customer of CUSTOMERS.toReversed()) {
    const context = await browser.newContext({ ...CONTEXT, baseURL: baseUrl, viewport: { width: 1280, height: 900 } });
    await useService(context.request, customer);
    if (customer.email === STAFF_EMAIL) {
      await addDemoHistory();
      if (reviewFolder !== undefined) {
        await reviewPages(browser, await listReviews(browser, context), reviewFolder);
        break;
      }
      const page = await context.newPage();
      for (const [path, name] of [
        ['/account/', 'account.png'],
        ['/admin/', 'admin.png'],
      ] as const) {
        await page.goto(path);
        await page.screenshot({ path: join(IMAGES, name) });
        console.log(`docs/images/${name}`);
      }
    }
    await context.close();
  }
}

interface Review {
  /** Prefix of the names of its pictures. */
  name: string;
  /** Session of the visitor. Absent for one who is not signed in. */
  storageState?: StorageState;
  paths: string[];
}

/** Lists the pages to review: those of a customer who is staff, of a new account, and of a visitor. */
async function listReviews(browser: Browser, staff: BrowserContext): Promise<Review[]> {
  await post(staff.request, '/api/affiliate/enroll/', {});
  await post(staff.request, '/api/billing/topup/', { amount_cents: 5_000 });
  const generations = await get<{ data: { uuid: string }[] }>(staff.request, '/api/generations/');
  const keys = await get<{ data: { uuid: string }[] }>(staff.request, '/api/keys/');
  const generation = `/account/library/${generations.data[0]?.uuid ?? ''}/`;
  const sendAsStaff = sendAs(staff.request);
  const endpoints = await createDemoEndpoints(sendAsStaff, withPrompt(IMAGE, 0));
  const endpoint = endpoints[0]?.split('#')[0] ?? '';
  const resources = [
    generation,
    `${generation}delete/`,
    ...['', 'revoke/'].map((page) => `/account/keys/${keys.data[0]?.uuid ?? ''}/${page}`),
    ...endpoints,
    `${endpoint}rotate/`,
    `${endpoint}delete/`,
  ];
  const unsubscribe = await receiveUnsubscribePath(sendAsStaff, folder, withPrompt(IMAGE, 0));
  const member = await addMember(browser, staff, CUSTOMERS[1]!.email);
  resources.push(...['', 'remove/', 'hand-over/'].map((page) => `${member}${page}`));
  const account = new URL((await staff.request.get('/admin/accounts/?q=grace@example.com')).url()).pathname;
  const trials = await sendTrial(staff);
  const newcomer = await browser.newContext({ ...CONTEXT, baseURL: baseUrl });
  await post(newcomer.request, '/authentication/dev/sign-in/', { email: 'new@example.com' });
  for (const { request } of [staff, newcomer])
    await sendAs(request)('PATCH', '/authentication/me/', { language: language ?? 'en' });
  return [
    { name: 'customer', storageState: await staff.storageState(), paths: [...ACCOUNT_PATHS, ...resources] },
    {
      name: 'staff',
      storageState: await staff.storageState(),
      paths: [...STAFF_PATHS, `${account}timeline/`, ...trials],
    },
    { name: 'new', storageState: await newcomer.storageState(), paths: ACCOUNT_PATHS },
    { name: 'visitor', paths: [...VISITOR_PATHS, unsubscribe] },
  ];
}

/** Adds a member to the account of a customer, and an invitation that is open. @returns the path of the member. */
async function addMember(browser: Browser, owner: BrowserContext, email: string): Promise<string> {
  await post(owner.request, '/api/invitations/create/', { email, role: 'developer' });
  const path = await receivePath(folder, 'invite', /\/account\/invitations\/[\w.-]+\//);
  const invited = await browser.newContext({ ...CONTEXT, baseURL: baseUrl });
  await post(invited.request, '/authentication/dev/sign-in/', { email });
  const page = await invited.newPage();
  await page.goto(path);
  await page.locator('main button[type=submit]').click();
  await page.waitForLoadState();
  await invited.close();
  await post(owner.request, '/api/invitations/create/', { email: 'alan@example.com', role: 'billing' });
  const { data } = await get<{ data: { uuid: string; email: string }[] }>(owner.request, '/api/members/');
  return `/account/members/${data.find((one) => one.email === email)?.uuid ?? ''}/`;
}

/** Sends a trial of the first upstream. @returns the paths of its request and of its end. */
async function sendTrial(staff: BrowserContext): Promise<string[]> {
  const page = await staff.newPage();
  await page.goto('/admin/upstreams/');
  await page.getByRole('button', { name: 'Show request' }).click();
  await page.getByLabel('Reason').waitFor();
  const request = page.url().slice(baseUrl.length);
  await page.getByLabel('Reason').fill('ticket T-1');
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByRole('heading', { name: 'Output' }).waitFor({ timeout: START_TIMEOUT_MS });
  const trial = new URL(page.url()).pathname;
  await page.close();
  return [request, trial];
}

/** Takes whole pages, and warns about those that are wider than the window. */
async function reviewPages(browser: Browser, reviews: Review[], target: string): Promise<void> {
  mkdirSync(target, { recursive: true });
  for (const { name: visitor, storageState, paths } of reviews) {
    for (const { name, colorScheme, width } of VIEWS) {
      if (language !== undefined && colorScheme === 'dark') continue;
      const viewport = { width, height: 900 };
      const context = await browser.newContext({ ...CONTEXT, baseURL: baseUrl, storageState, colorScheme, viewport });
      const page = await context.newPage();
      for (const path of paths.filter((one) => one.includes(only))) {
        await page.goto(path, { waitUntil: 'networkidle' });
        // Uuids differ from run to run.
        const title = path
          .replace(/[0-9a-f-]{36}[^/]*/, 'one')
          .replace(/upstream=[^#]*/, '')
          .replaceAll(/^\/|\/$/g, '');
        const file = join(target, `${visitor}-${title.replaceAll(/[/?#]+/g, '-')}-${name}.png`);
        await page.screenshot({ path: file, fullPage: true });
        const shownWidth = await page.evaluate('document.documentElement.scrollWidth');
        console.log(`${file}${Number(shownWidth) > width ? `: ${String(shownWidth)} pixels wide` : ''}`);
      }
      await context.close();
    }
  }
}

/**
 * Adds 29 days before today, so that the charts of the staff metrics show a month: accounts with a subscription, and
 * the sums of their generations, scaled from today's. Waits until the worker has made the hours before today final.
 */
async function addDemoHistory(): Promise<void> {
  const client = await connectTo(findLocalService(folder)!.environment['DATABASE_URL'] as string);
  try {
    await waitUntil(async () => (await client.query('SELECT FROM report_progress')).rowCount === 1, START_TIMEOUT_MS);
    await client.query(`
      CREATE TEMPORARY TABLE demo_days AS
      SELECT n * interval '1 day' AS age, (1 - n / 45.0) * (0.5 + (n * 7 % 11) / 15.0) AS scale FROM generate_series(1, 29) AS n;
      WITH made AS (
        INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at)
        SELECT gen_random_uuid(), gen_random_uuid() || '@example.com', 'dev', 'complete', now() - age
          FROM demo_days, generate_series(1, round(${CUSTOMERS.length} * scale)::int)
        RETURNING id, created_at
      )
      INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, created_at, started_at, activated_at,
                                 current_period_end, paid_until)
      SELECT gen_random_uuid(), id, (ARRAY['pro', 'studio', 'lite', 'starter'])[1 + id % 4], 'canceled', 'simulated', created_at,
             created_at, created_at, created_at, created_at FROM made;
      INSERT INTO generation_hours (hour, model, upstream, upstream_model, plan, generations, succeeded, failed, plan_credits,
                                    topup_credits, refunded_credits, plan_revenue_cents, topup_revenue_cents,
                                    commission_cents, provider_cost_cents, timed, latency_ms_sum, latency_ms_max)
      SELECT date_trunc('hour', now()) - age, model, '', '', '', round(made * scale), round(made * scale), 0, round(credits * scale), 0, 0,
             0, 0, 0, round(cents * scale), 0, 0, 0
        FROM demo_days, (SELECT model, count(*) AS made, sum(credits_charged) AS credits,
                                coalesce(sum(provider_cost_cents), 0) AS cents FROM generations GROUP BY 1) today;
      INSERT INTO usage_days (account_id, day, model, credits, generations)
      SELECT account_id, day - (extract(day FROM age))::int, model, round(3 * scale) * credits, round(3 * scale) * generations
        FROM usage_days JOIN accounts ON accounts.id = account_id, demo_days
       WHERE email = '${STAFF_EMAIL}'`);
  } finally {
    await client.end();
  }
}

/** Signs a customer in, subscribes, creates an API key and the generations, and waits until they have ended. */
async function useService(client: APIRequestContext, { email, plan, prompts }: DemoCustomer): Promise<void> {
  await post(client, '/authentication/dev/sign-in/', { email });
  await post(client, '/authentication/onboarding/advance/', { step_completed: 'profile', data: { first_name: 'Ada' } });
  await post(client, '/api/billing/checkout/', { plan });
  await post(client, '/api/keys/create/', { name: 'My script' });
  for (const request of prompts) {
    const { uuid } = await post(client, '/api/generations/create/', request);
    const response = await client.get(`/api/generations/${String(uuid)}/?wait=45`, { timeout: 60_000 });
    const { status } = (await response.json()) as { status: string };
    if (status !== 'succeeded') throw new Error(`A generation is ${status}, so the pages would not look as usual.`);
  }
}

async function get<Body>(client: APIRequestContext, path: string): Promise<Body> {
  const response = await client.get(path);
  if (!response.ok()) throw new Error(`GET ${path} was answered with ${response.status()}.`);
  return (await response.json()) as Body;
}

function sendAs(client: APIRequestContext) {
  return async (method: 'POST' | 'PATCH', path: string, data: object): Promise<Record<string, unknown>> => {
    const response = await client.fetch(path, { method, data, headers: { origin: baseUrl } });
    if (!response.ok())
      throw new Error(`${method} ${path} was answered with ${response.status()}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

function post(client: APIRequestContext, path: string, data: object): Promise<Record<string, unknown>> {
  return sendAs(client)('POST', path, data);
}

function withPrompt<Request extends object>(request: Request, index: number): Request & { prompt: string } {
  return { ...request, prompt: `Demo scene ${index + 1}` };
}

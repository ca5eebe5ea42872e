import { randomUUID } from 'node:crypto';
import { INVARIANTS } from '../../shared/domain/integrity/index.ts';
import type { TestService } from './testService.ts';

/** Two months of generations for the reports, and what their figures must be, computed from the same objects. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export interface FixtureAccount {
  email: string;
  plan: string | null;
  step: 'profile' | 'plan' | 'complete';
  createdDaysAgo: number;
  isReferred?: boolean;
  topups?: { cents: number; credits: number; reversedCents: number; reversedCredits: number }[];
}

export interface FixtureGeneration {
  uuid: string;
  account: string;
  model: 'vidmodel-video' | 'imgmodel-2';
  upstream: 'fal' | 'replicate' | null;
  status: 'succeeded' | 'failed' | 'queued';
  credits: number;
  planCredits: number;
  createdAt: Date;
  submittedAt: Date | null;
  completedAt: Date | null;
  costCents: number | null;
  error: string | null;
}

/** Message of a generation that its owner canceled. */
const CANCELED = 'Canceled.';
export const isCanceled = ({ error }: FixtureGeneration): boolean => error === CANCELED;
/** True for a failure that is not a cancellation. */
export const isFailure = (generation: FixtureGeneration): boolean =>
  generation.status === 'failed' && !isCanceled(generation);

/** Text that an upstream quotes in a failure. No report may show it. */
export const SECRET_PROMPT = 'a secret lighthouse';

export const ACCOUNTS: readonly FixtureAccount[] = [
  { email: 'affiliate@own.example', plan: null, step: 'profile', createdDaysAgo: 50 },
  { email: 'pro@example.com', plan: 'pro', step: 'complete', createdDaysAgo: 3, isReferred: true },
  {
    email: 'studio@example.com',
    plan: 'studio',
    step: 'complete',
    createdDaysAgo: 40,
    topups: [
      { cents: 10_000, credits: 4_000, reversedCents: 0, reversedCredits: 0 },
      { cents: 5_000, credits: 2_000, reversedCents: 5_000, reversedCredits: 500 },
    ],
  },
  { email: 'none@example.com', plan: null, step: 'plan', createdDaysAgo: 10 },
  { email: 'lite@example.com', plan: 'lite', step: 'complete', createdDaysAgo: 29 },
];

/** Price of a credit in cents, as the specification's plans give it. */
const PLAN_RATES: Record<string, number> = { lite: 3, starter: 3, pro: 2_900 / 1_100, studio: 2.5 };

const startOfDay = (daysAgo: number) => new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - daysAgo * DAY_MS);
export const formatDay = (moment: Date) => moment.toISOString().slice(0, 10);
/** The last 30 days, as the form sends them. */
export const RANGE = { from: formatDay(startOfDay(29)), to: formatDay(startOfDay(0)) };

/** Version 7, as the service creates them: the order of uuids is the order of creation. */
function uuidAt(moment: Date): string {
  const time = moment.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Six generations a day, without those that would be created in the future. */
export function buildGenerations(): FixtureGeneration[] {
  const reasons = [
    'The model took too long. Please try again.',
    `The request was rejected: "${SECRET_PROMPT}" is not allowed.`,
    'The model did not finish in time.',
  ];
  const owners = ACCOUNTS.filter(({ email }) => email !== 'affiliate@own.example');
  return Array.from({ length: 60 * 6 }, (_, index): FixtureGeneration => {
    const createdAt = new Date(startOfDay(Math.floor(index / 6)).getTime() + (index % 6) * 4 * HOUR_MS + index * 1_000);
    const owner = owners[index % 4] as FixtureAccount;
    const isVideo = index % 3 === 0;
    const credits = isVideo ? 35 : 8;
    const wasCanceled = index % 25 === 7;
    const status = index % 10 === 0 || wasCanceled ? 'failed' : 'succeeded';
    const neverSubmitted = status === 'failed' && (index % 30 === 0 || index % 50 === 7);
    const submittedAt = neverSubmitted ? null : new Date(createdAt.getTime() + 500);
    return {
      uuid: uuidAt(createdAt),
      account: owner.email,
      model: isVideo ? 'vidmodel-video' : 'imgmodel-2',
      upstream: neverSubmitted ? null : index % 4 === 1 ? 'replicate' : 'fal',
      status,
      credits,
      planCredits: owner.plan === null ? 0 : index % 5 === 0 ? credits - 3 : credits,
      createdAt,
      submittedAt,
      completedAt: new Date(createdAt.getTime() + 10_000 + (index % 7) * 1_000),
      costCents: status === 'failed' ? null : isVideo ? 25.5 : 4.25,
      error: wasCanceled ? CANCELED : status === 'failed' ? (reasons[(index / 10) % 3] as string) : null,
    };
  }).filter(({ completedAt }) => completedAt!.getTime() < Date.now() - 60_000);
}

/** Revenue in cents of a generation that was not refunded, and the commission on it. */
function computeRevenue({ account, credits, planCredits, status }: FixtureGeneration) {
  if (status === 'failed') return { plan: 0, topup: 0, commission: 0 };
  const owner = ACCOUNTS.find(({ email }) => email === account) as FixtureAccount;
  const plan = planCredits * (PLAN_RATES[owner.plan ?? ''] ?? 0);
  const topups = owner.topups ?? [];
  const cents = topups.reduce((sum, topup) => sum + topup.cents - topup.reversedCents, 0);
  const bought = topups.reduce((sum, topup) => sum + topup.credits - topup.reversedCredits, 0);
  const topup = bought === 0 ? 0 : ((credits - planCredits) * cents) / bought;
  return { plan, topup, commission: owner.isReferred === true ? 0.3 * plan : 0 };
}

export const sum = <Row>(rows: Row[], pick: (row: Row) => number) => rows.reduce((total, row) => total + pick(row), 0);

/** Failures and cancellations of these generations, by the columns of the file. */
export function expectedOutcomes(members: FixtureGeneration[]) {
  const [failed, canceled] = [members.filter(isFailure).length, members.filter(isCanceled).length];
  const ended = members.length - canceled;
  return { failed, canceled, failure_rate_percent: Math.round((1_000 * failed) / ended) / 10 };
}

/** Rounds halves up although they are sums of floating-point numbers. */
const roundCents = (cents: number) => Math.round(Number(cents.toFixed(6)));

/** Margin of these generations, by the columns of the file. */
export function expectedMargin(members: FixtureGeneration[]) {
  const charged = members.filter(({ status }) => status !== 'failed');
  const revenues = members.map(computeRevenue);
  const [plan, topup] = [sum(revenues, (one) => one.plan), sum(revenues, (one) => one.topup)];
  const commission = sum(revenues, (one) => one.commission);
  const cost = sum(members, ({ costCents }) => costCents ?? 0);
  return {
    generations: members.length,
    plan_credits: sum(charged, ({ planCredits }) => planCredits),
    topup_credits: sum(charged, ({ credits, planCredits }) => credits - planCredits),
    plan_revenue_cents: roundCents(plan),
    topup_revenue_cents: roundCents(topup),
    provider_cost_cents: roundCents(cost),
    commission_cents: roundCents(commission),
    margin_cents: roundCents(plan + topup - cost - commission),
  };
}

/** Inserts the accounts and generations. They have no ledger, so only the invariants of the metrics hold. */
export async function writeReportFixture(service: TestService, generations: FixtureGeneration[]): Promise<void> {
  for (const { name } of INVARIANTS) if (!name.startsWith('metric-')) service.fabricated.add(name);
  for (const { email, plan, step, createdDaysAgo, topups = [] } of ACCOUNTS) {
    await service.sql(
      `INSERT INTO accounts (uuid, email, social_provider, created_at, onboarding_step, plan_slug)
       VALUES (gen_random_uuid(), $1, 'dev', $2, $3, $4)`,
      [email, startOfDay(createdDaysAgo), step, plan],
    );
    for (const topup of topups)
      await service.sql(
        `INSERT INTO topups (uuid, account_id, kind, status, amount_cents, credits, reversed_cents, credits_reversed,
                             created_at, completed_at)
         SELECT gen_random_uuid(), id, 'manual', 'succeeded', $2, $3, $4, $5, now(), now() FROM accounts WHERE email = $1`,
        [email, topup.cents, topup.credits, topup.reversedCents, topup.reversedCredits],
      );
  }
  await service.sql(
    `INSERT INTO affiliates (account_id, code, created_at) SELECT id, 'abcdefghijkl', now() FROM accounts WHERE email = $1`,
    ['affiliate@own.example'],
  );
  for (const { email } of ACCOUNTS.filter(({ isReferred }) => isReferred)) await addReferral(service, email, 3, null);
  await service.sql(
    `INSERT INTO generations (uuid, account_id, number, model, prompt, params, status, credits_charged, plan_credits_charged,
                              created_at, deadline_at, next_attempt_at, completed_at, output_path, error_message,
                              provider_cost_cents, upstream, upstream_model, submitted_at)
     SELECT r.uuid, id, row_number() OVER (PARTITION BY id ORDER BY r."createdAt"), model, $2, '{}', status, credits, "planCredits",
            r."createdAt", r."createdAt", r."createdAt", "completedAt", CASE status WHEN 'succeeded' THEN 'aa/a/a.png' END, error,
            "costCents", upstream, CASE WHEN upstream IS NOT NULL THEN 'v1' END, "submittedAt"
       FROM json_to_recordset($1)
         AS r (uuid uuid, account text, model text, upstream text, status text, credits int, "planCredits" int,
               "createdAt" timestamptz, "submittedAt" timestamptz, "completedAt" timestamptz, "costCents" numeric, error text)
       JOIN accounts ON email = account`,
    [JSON.stringify(generations), SECRET_PROMPT],
  );
}

/** Records that the affiliate referred an account. */
export async function addReferral(
  service: TestService,
  email: string,
  daysAgo: number,
  network: string | null,
): Promise<void> {
  await service.sql(
    `INSERT INTO referrals (account_id, affiliate_id, clicked_at, created_at, network)
     SELECT a.id, f.id, $2, $2, $3 FROM accounts a, accounts f WHERE a.email = $1 AND f.email = 'affiliate@own.example'`,
    [email, startOfDay(daysAgo), network],
  );
}

/** Parses a CSV file into rows by column name; numbers are converted. */
export function parseCsv(text: string): Record<string, string | number>[] {
  const [header = [], ...lines] = text
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    );
  return lines.map((cells) =>
    Object.fromEntries(
      header.map((name, index) => {
        const cell = cells[index] ?? '';
        return [name, /^-?\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell];
      }),
    ),
  );
}

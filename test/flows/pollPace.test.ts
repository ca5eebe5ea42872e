import { expect } from 'chai';
import { quantile } from '../../dev/local/statistics.ts';
import {
  computePace,
  getFirstPollDelayMs,
  POLL_DELAY,
  type PollPace,
  readPaces,
} from '../../shared/domain/generations/execution/pollPace.ts';
import { prepared, runStatement } from '../../shared/lib/database/preparedStatements.ts';
import { createSeededRandom } from '../fakes/seededRandom.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

/** Delays after a poll at each tenth of a second, as the statement that acquires polls computes them. */
const LIST_DELAYS = prepared(
  'list_poll_delays',
  `SELECT cast(extract(epoch FROM ${POLL_DELAY}) AS float8) AS delay
     FROM (SELECT 'fal' AS upstream, 'a' AS upstream_model, cast(NULL AS timestamptz) AS cancel_requested_at,
                  cast(:now AS timestamptz) - make_interval(secs => n / 10.0) AS submitted_at,
                  cast(:now AS timestamptz) - make_interval(secs => n / 10.0) AS created_at
             FROM generate_series(0, 6000) AS n ORDER BY n) g`,
);

const RUNS = 1_200;
/** Runs that the quantiles come from, and after how many they are read again. */
const WINDOW = 200;
const READ_EVERY = 50;
/** Time that a poll takes. */
const POLL_SECONDS = 0.1;

async function listDelays(pace: PollPace | null): Promise<number[]> {
  const paces = JSON.stringify(pace === null ? [] : [{ upstream: 'fal', upstream_model: 'a', ...pace }]);
  const rows = await runStatement<{ delay: number }>(LIST_DELAYS, { now: new Date(), rare: [], paces });
  return rows.map(({ delay }) => delay);
}

/** Simulates runs that end after a log-normal time, in seconds. */
async function simulate(median: number, spread: number, isPaced: boolean) {
  const random = createSeededRandom(7);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const found: number[] = [];
  const [polls, delays, gaps]: number[][] = [[], [], []];
  let pace: PollPace | null = null;
  let next = await listDelays(pace);
  for (let run = 0; run < RUNS; run += 1) {
    if (isPaced && run > 0 && run % READ_EVERY === 0) {
      const recent = found.slice(-WINDOW);
      const [shortest, middle, longest] = [0.05, 0.5, 0.95].map((share) => quantile(recent, share)) as [
        number,
        number,
        number,
      ];
      pace = computePace({ shortest, median: middle, longest });
      next = await listDelays(pace);
    }
    const end = median * Math.exp(spread * normal());
    let at = (pace === null ? 2 : Math.ceil(Math.min(30, pace.first))) + POLL_SECONDS;
    let count = 1;
    while (at < end) {
      // Delays are whole seconds, so that generations share jobs.
      const gap = Math.ceil(next[Math.round(10 * at)] as number) + POLL_SECONDS;
      gaps?.push(gap);
      at += gap;
      count += 1;
    }
    found.push(at);
    if (run < RUNS / 4) continue;
    polls?.push(count);
    delays?.push((at - end) / end);
  }
  const sum = (polls as number[]).reduce((total, count) => total + count, 0);
  return {
    polls: sum / (polls as number[]).length,
    delay: quantile(delays as number[], 0.5),
    gap: Math.min(...(gaps as number[])),
  };
}

describe('polls that follow the length of recent runs', () => {
  const service = useTestService({ workers: 0 });

  for (const [median, spread] of [
    [12, 0.1],
    [20, 0.2],
    [60, 0.2],
    [120, 0.15],
    [120, 0.4],
  ] as const) {
    it(`find runs of about ${median} s with half of the polls, and within a tenth of their length`, async () => {
      const usual = await simulate(median, spread, false);
      const paced = await simulate(median, spread, true);
      expect(paced.polls).to.be.below(0.65 * usual.polls);
      expect(paced.delay).to.be.below(0.1);
      expect(paced.gap).to.be.at.least(2);
    });
  }

  it('are no more and no later for runs of a few seconds', async () => {
    for (const median of [1, 3, 4, 6, 8]) {
      const usual = await simulate(median, 0.15, false);
      const paced = await simulate(median, 0.15, true);
      expect(paced.polls).to.be.at.most(usual.polls);
      expect(paced.delay).to.be.at.most(1.1 * usual.delay);
    }
  });

  it('begin later for a model whose recent runs took long', async () => {
    await setAllModelsOnline(service);
    const customer = await service.createCustomer('studio');
    const { uuid } = await customer.createImage();
    const [created] = await service.sql('SELECT upstream, upstream_model FROM generations WHERE uuid = $1', [uuid]);
    expect(created).to.deep.equal({ upstream: null, upstream_model: null });
    await service.sql(
      `INSERT INTO generations (uuid, account_id, number, model, prompt, params, status, credits_charged, plan_credits_charged,
                                created_at, deadline_at, next_attempt_at, completed_at, output_path, upstream, upstream_model,
                                submitted_at, polled_at)
       SELECT overlay(uuid::text PLACING lpad(n::text, 12, '0') FROM 25)::uuid, account_id + 1000, n, model, prompt, params,
              'succeeded', credits_charged, plan_credits_charged, created_at, deadline_at, next_attempt_at, now(), 'a.png',
              'fal', 'slow', created_at, created_at + make_interval(secs => 20 + n / 10.0)
         FROM generations, generate_series(1, 20) AS n WHERE uuid = $1`,
      [uuid],
    );
    await readPaces();
    expect(getFirstPollDelayMs('fal', 'slow')).to.equal(19_000);
    expect(getFirstPollDelayMs('fal', 'unknown')).to.equal(2_000);
    await service.sql(`DELETE FROM generations WHERE upstream_model = 'slow'`);
  });
});

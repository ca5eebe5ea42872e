import { INSERT_OWNERS } from '../../dev/insertOwners.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { REWRITE_PLAN_HISTORY } from '../harness/planHistory.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const DUE = 250;

/** Writes accounts on a plan, whose first month has ended. */
const INSERT_DUE = [
  `INSERT INTO accounts (uuid, email, social_provider, onboarding_step, created_at, plan_slug, spendable_until, parallel_limit,
                         balance, plan_credits, period_start, period_end, period_granted, ledger_count)
   SELECT gen_random_uuid(), gen_random_uuid() || '@example.com', 'dev', 'complete', began, 'lite', began + interval '1 year',
          (SELECT parallel_limit FROM catalog_plans WHERE slug = 'lite'), 200, 200, began, began + interval '1 month', 200, 1
     FROM generate_series(1, ${DUE}), (SELECT date_trunc('second', now()) - interval '40 days' AS began) start`,
  `INSERT INTO subscriptions (uuid, account_id, plan_slug, status, processor, started_at, current_period_end, paid_until, created_at,
                              activated_at)
   SELECT gen_random_uuid(), id, plan_slug, 'active', 'simulated', created_at, spendable_until, spendable_until, created_at, created_at
     FROM accounts WHERE subscription_id IS NULL`,
  `INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, effect_key, created_at)
   SELECT a.id, 1, 'grant', 200, 200, 200, 'Monthly credits: Lite plan', 'grant:' || s.uuid || ':0', a.created_at
     FROM accounts a JOIN subscriptions s ON s.account_id = a.id WHERE a.subscription_id IS NULL`,
  INSERT_OWNERS,
  `UPDATE accounts a SET subscription_id = s.id FROM subscriptions s
    WHERE s.account_id = a.id AND a.subscription_id IS NULL`,
  REWRITE_PLAN_HISTORY,
];

describe('the renewal of credit periods by a worker', () => {
  const service = useTestService({ apis: 0, workers: 0 });

  it('does not pause while only workers use the database', async () => {
    expect(await renewWithWorker()).to.deep.equal({ renewedCount: DUE, pausedMs: 0 });
  });

  it('pauses after each batch while another session uses the database', async () => {
    const other = new pg.Client({ connectionString: service.env['DATABASE_URL'] });
    await other.connect();
    try {
      await other.query('BEGIN');
      const { renewedCount, pausedMs } = await renewWithWorker();
      expect(renewedCount).to.equal(DUE);
      expect(pausedMs).to.be.greaterThan(0);
    } finally {
      await other.end();
    }
  });

  /**
   * Makes accounts due, starts a worker once the session that wrote them counts as idle, and adds up what it has
   * logged: two runs of the job can overlap after the start of a worker, and share the accounts.
   */
  async function renewWithWorker(): Promise<Renewed> {
    for (const statement of INSERT_DUE) await service.sql(statement);
    await delay(1_500);
    const worker = await service.startWorker();
    await eventually('all accounts are renewed', () => sumRuns(worker.logs()).renewedCount >= DUE);
    await worker.stop();
    return sumRuns(worker.logs());
  }
});

interface Renewed {
  renewedCount: number;
  pausedMs: number;
}

function sumRuns(logs: string): Renewed {
  const runs = logs.split('\n').filter((line) => line.includes('credit periods renewed'));
  return runs
    .map((line): Renewed => JSON.parse(line))
    .reduce(
      (sum, { renewedCount, pausedMs }) => ({
        renewedCount: sum.renewedCount + renewedCount,
        pausedMs: sum.pausedMs + pausedMs,
      }),
      { renewedCount: 0, pausedMs: 0 },
    );
}

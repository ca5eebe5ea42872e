import { expect } from 'chai';
import pg from 'pg';
import { partitionByAccount } from '../../dev/partitioning/partitionByAccount.ts';
import { LIST_FILTERED_LEDGER } from '../../shared/domain/credits/listFilteredLedger.ts';
import { getFilteredStatement } from '../../shared/domain/generations/list.ts';
import { createDatabase } from '../harness/databases.ts';
import { explainPrepared, PLAN_CACHE_MODES } from '../harness/explainPrepared.ts';

const ITEMS = 30_000;
const MAX = 1_001;

/** Parameters of both statements. */
const PARAMETERS: Record<string, string> = {
  accountId: '1',
  statuses: `ARRAY['queued', 'succeeded', 'failed']`,
  models: `ARRAY['vidmodel-video', 'imgmodel-2']`,
  types: `ARRAY['grant', 'burn', 'refund', 'rollover', 'expiry', 'topup']`,
  after: `'2000-01-01'`,
  before: `'infinity'`,
  max: String(MAX),
  skip: '0',
  limit: '20',
};

/** Writes many generations and burns of one account, and some of others. */
const SEED = `
  INSERT INTO generations (uuid, account_id, number, model, prompt, params, status, credits_charged, plan_credits_charged,
                           created_at, deadline_at, next_attempt_at, completed_at, output_path)
  SELECT gen_random_uuid(), CASE WHEN n <= ${ITEMS} THEN 1 ELSE 1 + n % 100 END, n,
         CASE WHEN n % 5 = 0 THEN 'vidmodel-video' ELSE 'imgmodel-2' END, 'a lighthouse', '{"resolution": "1K"}', 'succeeded', 8, 8,
         at, at, at, at, 'aa/seeded/image.png'
    FROM (SELECT n, now() + n * interval '1 second' AS at FROM generate_series(1, ${ITEMS} + 5000) AS n) numbers;
  INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description, created_at)
  SELECT account_id, number, CASE WHEN number % 2 = 0 THEN 'burn' ELSE 'refund' END, -8, -8, 0, 'Generation', created_at
    FROM generations;
  ANALYZE`;

describe('the statements of filtered lists', () => {
  for (const partitions of [0, 4]) {
    const schema = partitions === 0 ? 'whole tables' : 'partitioned tables';
    describe(`on ${schema}`, () => {
      let client: pg.Client;
      before(async () => {
        client = new pg.Client(await createDatabase());
        await client.connect();
        if (partitions > 0) await partitionByAccount(client, partitions);
        await client.query(SEED);
      });
      after(() => client.end());

      for (const mode of PLAN_CACHE_MODES) {
        for (const statement of [getFilteredStatement(2), LIST_FILTERED_LEDGER]) {
          it(`${statement.name} reads no more than the limit of ${ITEMS} matches, with ${mode}`, async () => {
            const plan = await explainPrepared(client, statement, PARAMETERS, mode);
            const read = [...plan.matchAll(/actual rows=(\d+)/g)].map(([, number]) => Number(number));
            expect(Math.max(...read), plan).to.equal(MAX);
          });
        }
      }
    });
  }
});

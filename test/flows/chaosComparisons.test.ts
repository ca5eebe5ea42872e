import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { AUDIT_TRIGGERS_SQL } from '../../dev/chaos/auditTriggers.ts';
import { runComparisons } from '../../dev/chaos/compareJournal.ts';
import { COMPARISONS, DRAINED_COMPARISONS } from '../../dev/chaos/comparisons.ts';
import { createDatabase } from '../harness/databases.ts';
import { CUSTOMER, writeLedgerFixture } from '../harness/ledgerFixture.ts';

type Rows = Record<string, Record<string, any>[]>;

/** Reads a journal that agrees with the database. */
const JOURNAL_SQL: Record<string, string> = {
  seen_accounts: 'SELECT uuid, email FROM accounts WHERE live_account_id IS NULL ORDER BY id',
  seen_creates: `
    SELECT p.prompt, a.uuid AS "accountUuid", 1 AS sent, 0 AS rejected, false AS "isStale", g.oauth_client_id AS "clientId",
           false AS "hasImage", false AS "isForbidden", jsonb_build_object('', g.credits_charged) AS "pricesByCatalog"
      FROM generations g JOIN chaos.prompts p ON p.generation = g.uuid JOIN accounts a ON a.id = g.account_id
     WHERE NOT g.is_test ORDER BY g.created_at`,
  seen_generations: `
    SELECT g.uuid, a.uuid AS "accountUuid", 'REST' AS surface, p.prompt, g.model, g.credits_charged AS credits, g.status,
           CASE WHEN g.status <> 'queued' THEN jsonb_build_object('status', g.status) END AS final,
           CASE WHEN g.deleted_at IS NOT NULL THEN 1 END AS "deletedAt",
           CASE WHEN g.deleted_at IS NOT NULL THEN 1 END AS "deleteRequestedAt"
      FROM generations g JOIN chaos.prompts p ON p.generation = g.uuid JOIN accounts a ON a.id = g.account_id
     WHERE NOT g.is_test ORDER BY g.created_at`,
  seen_keys: `
    SELECT k.uuid, k.number::text AS key, a.uuid AS "accountUuid", k.number AS "revokeRequestedAt",
           CASE WHEN k.revoked_at IS NOT NULL THEN 1 END AS "revokedAt"
      FROM api_keys k JOIN accounts a ON a.id = k.account_id ORDER BY k.number`,
  paid_topups: `
    SELECT a.uuid AS "accountUuid", t.stripe_session_id AS "sessionId", t.amount_cents AS "amountCents", 0 AS at, false AS "isAwaited"
      FROM topups t JOIN accounts a ON a.id = t.account_id WHERE t.stripe_session_id IS NOT NULL`,
  paid_plans: `
    SELECT a.uuid AS "accountUuid", s.plan_slug AS plan, s.stripe_subscription_id AS "subscriptionId"
      FROM subscriptions s JOIN accounts a ON a.id = s.account_id WHERE s.stripe_subscription_id IS NOT NULL`,
  staff_adjustments: `
    SELECT a.uuid AS "accountUuid", substr(l.effect_key, 12) AS request, l.amount AS credits, true AS "isConfirmed"
      FROM ledger_entries l JOIN accounts a ON a.id = l.account_id WHERE l.effect_key LIKE 'adjustment:%'`,
  staff_refunds: `
    SELECT l.generation_uuid AS uuid, a.uuid AS "accountUuid", l.amount AS credits
      FROM ledger_entries l JOIN accounts a ON a.id = l.account_id WHERE l.entry_type = 'refund'`,
  sent_creates: `
    SELECT uuid AS "accountUuid", extract(epoch FROM clock_timestamp()) * 1000 - 30000 AS at FROM accounts WHERE id = ${CUSTOMER}`,
  runs: `
    SELECT g.number, g.uuid AS id, p.prompt, false AS "isCanceled", false AS "wasSeenWaiting", true AS "hasStarted",
           g.status = 'succeeded' AS "hasSucceeded", g.error_message AS error, false AS "hasImage", '' AS detail
      FROM generations g JOIN chaos.prompts p ON p.generation = g.uuid ORDER BY g.created_at`,
  mails: `SELECT m.email AS uuid, a.email AS recipient, false AS "isCut" FROM chaos.emails m JOIN accounts a ON a.id = m.account`,
  allowed_prompts: 'SELECT prompt FROM chaos.prompts',
  seen_endpoints: `
    SELECT a.uuid AS "accountUuid", w.uuid, true AS "isConfirmed", 'one' AS token, w.events, true AS "isEnabled", false AS "isDeleted"
      FROM webhook_endpoints w JOIN accounts a ON a.id = w.account_id`,
  accepted_messages: `
    SELECT w.uuid AS recipient, 'msg_' || o.uuid AS id FROM webhook_deliveries d JOIN outbox_events o ON o.id = d.event_id
      JOIN webhook_endpoints w ON w.id = d.endpoint_id`,
  second_models: `SELECT '7' AS catalog, 'fal:second' AS model`,
};

const FIXTURE_SQL = `
  UPDATE chaos.prompts SET prompt = 'a fox ' || generation;
  UPDATE topups SET stripe_session_id = 'cs_test_1' WHERE kind = 'manual' AND status = 'succeeded';
  INSERT INTO webhook_endpoints (uuid, account_id, url, secret, private_key, public_key, created_at, updated_at)
  VALUES (gen_random_uuid(), ${CUSTOMER}, 'https://customer.example/hooks/one', 's', 'p', 'k', now(), now());
  INSERT INTO outbox_events (account_id, type, subject, created_at) VALUES (${CUSTOMER}, 'key.created', 'k', now());
  INSERT INTO webhook_deliveries (endpoint_id, event_id, status, delivered_at, created_at)
  SELECT w.id, o.id, 'succeeded', now(), now() FROM webhook_endpoints w, outbox_events o ORDER BY w.id DESC, o.id DESC LIMIT 1;
  INSERT INTO emails (account_id, kind, cause, status, created_at, sent_at) VALUES (${CUSTOMER}, 'low', 'a', 'sent', now(), now())`;

const QUEUED = `status = 'queued'`;
const FAILED = `uuid = (SELECT uuid FROM generations WHERE status = 'failed' AND account_id = ${CUSTOMER} LIMIT 1)`;
const WITH_HANDLE = `upstream = 'fal', upstream_model = 'm', submit_started_at = created_at,
  upstream_handle = jsonb_build_object('request_id', uuid)`;

interface Alteration {
  /** Changes the database. */
  sql?: string;
  /** Changes the journal. */
  change?: (rows: Rows) => void;
}

const change = (name: string, values: object, where = (_row: Record<string, any>) => true): Alteration => ({
  change: (rows) => Object.assign(rows[name]?.find(where) ?? {}, values),
});
const add = (name: string, ...more: Record<string, any>[]): Alteration => ({
  change: (rows) => (rows[name] = [...(rows[name] ?? []), ...more]),
});
const deletion = (values: object): Alteration => ({
  change: (rows) => {
    const [{ uuid, email }] = rows['seen_accounts'] as [Record<string, any>];
    const times = { acknowledgedAt: '2037-01-01', stoppedAt: '2037-01-01', customerId: 'cus_1' };
    rows['seen_deletions'] = [{ accountUuid: uuid, email, isUndone: true, ...times, ...values }];
    rows['charges'] = [{ id: 'ch_1', customer: 'cus_1', created: '2037-02-01', amount: 5, refunded: 0 }];
  },
});

/** Something that violates each rule, and no other one. */
const ALTERATIONS: Record<string, Alteration[]> = {
  'suspension-clears-the-trigger': [
    {
      sql: `UPDATE accounts SET auto_topup_triggered_at = now() WHERE id = ${CUSTOMER};
            INSERT INTO chaos.violations VALUES ('suspension-clears-the-trigger', ${CUSTOMER}, 'triggered')`,
    },
  ],
  'created-content-was-allowed': [{ change: (rows) => void rows['allowed_prompts']?.pop() }],
  'canceled-runs-were-obsolete': [
    {
      sql: `UPDATE generations SET ${WITH_HANDLE} WHERE ${QUEUED}`,
      change: (rows) => rows['runs']?.forEach((run) => (run['isCanceled'] = true)),
    },
  ],
  'automatic-charges-have-a-cause': [{ change: (rows) => void rows['sent_creates']?.pop() }],
  'no-needless-automatic-charge': [
    {
      ...change('paid_topups', { isAwaited: true }),
      sql: `INSERT INTO chaos.topups SELECT uuid, 'succeeded', now() + interval '1 day' FROM topups WHERE stripe_session_id IS NOT NULL`,
    },
  ],
  'no-charge-after-a-rejection': [
    {
      sql: `UPDATE chaos.topups SET at = at + interval '1 day' WHERE status = 'succeeded';
            INSERT INTO chaos.topups SELECT uuid, 'pending', now() FROM topups WHERE kind = 'automatic'`,
      change: (rows) => {
        const [{ uuid }] = rows['seen_accounts'] as [Record<string, any>];
        rows['rejected_creates'] = [
          { accountUuid: uuid, respondedAt: Date.now() + 3_600_000, prompt: 'x', response: 'no' },
        ];
      },
    },
  ],
  'created-exists': [
    change('seen_accounts', { email: 'other@example.com' }),
    change('seen_generations', { uuid: '11111111-1111-4111-8111-111111111111' }),
    change('seen_generations', { credits: 7 }),
    change('seen_keys', { key: 'another' }),
  ],
  'end-is-final': [change('seen_generations', { final: { status: 'failed' } }, ({ status }) => status === 'succeeded')],
  'canceled-was-requested': [{ sql: `UPDATE generations SET cancel_requested_at = now() WHERE ${QUEUED}` }],
  'deleted-is-gone': [
    change('seen_generations', { deletedAt: 1, deleteRequestedAt: 1 }),
    change('seen_generations', { deletedAt: null, deleteRequestedAt: null }, ({ deletedAt }) => deletedAt !== null),
  ],
  'no-unrequested-generations': [{ change: (rows) => void rows['seen_creates']?.pop() }],
  'application-is-recorded': [change('seen_creates', { clientId: 'an application' })],
  'key-options-are-kept': [change('seen_creates', { isForbidden: true })],
  'one-generation-per-create': [
    {
      sql: `UPDATE chaos.prompts SET prompt = 'one' WHERE generation IN (SELECT uuid FROM generations WHERE status = 'failed' AND account_id = ${CUSTOMER})`,
      change: (rows) => {
        const [{ uuid: owner }] = rows['seen_accounts'] as [Record<string, any>];
        const isFailed = ({ status, accountUuid }: Record<string, any>) => status === 'failed' && accountUuid === owner;
        const failed = new Set(rows['seen_generations']?.filter(isFailed).map(({ prompt }) => prompt));
        const create = rows['seen_creates']?.find(({ prompt }) => failed.has(prompt));
        add('seen_creates', { ...create, prompt: 'one' }).change?.(rows);
        for (const row of rows['seen_generations'] ?? []) if (failed.has(row['prompt'])) row['prompt'] = 'one';
        rows['runs'] = rows['runs']?.filter(({ prompt }) => !failed.has(prompt)) ?? [];
        rows['allowed_prompts']?.push({ prompt: 'one' });
      },
    },
  ],
  'rejected-is-not-charged': [change('seen_creates', { rejected: 1 })],
  'lists-show-own-items': [change('seen_creates', { accountUuid: '11111111-1111-4111-8111-111111111111' })],
  'revoked-key-is-rejected': [change('seen_keys', { revokedAt: 1 }, ({ revokedAt }) => revokedAt === null)],
  'valid-key-is-accepted': [
    change('seen_keys', { revokeRequestedAt: null, revokedAt: null }, ({ revokedAt }) => revokedAt !== null),
  ],
  'paid-topup-is-credited': [
    change('paid_topups', { sessionId: 'cs_test_2' }),
    change('paid_topups', { amountCents: 1 }),
  ],
  'paid-plan-is-known': [change('paid_plans', { subscriptionId: 'sub_2' })],
  'adjustment-is-posted-once': [
    change('staff_adjustments', { request: 'T-2' }),
    change('staff_adjustments', { credits: 1 }),
  ],
  'staff-refund-is-posted-once': [change('staff_refunds', { credits: 1 })],
  'deletion-is-carried-out': [
    deletion({ isUndone: true, email: 'other@example.com' }),
    deletion({ isUndone: false, customerId: null }),
  ],
  'payments-end-with-a-deletion': [
    {
      ...deletion({ isUndone: false }),
      sql: `UPDATE accounts SET deletion_requested_at = now() WHERE id = ${CUSTOMER}`,
    },
  ],
  'priced-and-run-by-one-catalog': [
    change('seen_creates', { pricesByCatalog: { '': 9 } }),
    { sql: `UPDATE generations SET upstream = 'fal', upstream_model = 'second' WHERE ${QUEUED}` },
    {
      sql: `ALTER TABLE ledger_entries DISABLE TRIGGER USER; UPDATE ledger_entries SET amount = amount - 1 WHERE number = 2 AND entry_type = 'burn'`,
    },
  ],
  'generations-have-their-images': [change('seen_creates', { hasImage: true })],
  'run-once': [{ change: (rows) => void rows['runs']?.push({ ...rows['runs'][0], number: 99, id: 'other' }) }],
  'ended-by-its-last-run': [{ sql: `UPDATE generations SET failed_over_at = now() WHERE ${FAILED}` }],
  'canceled-generations-did-not-run': [{ sql: `UPDATE generations SET error_message = 'Canceled.' WHERE ${FAILED}` }],
  'call-backs-are-not-believed': [
    { sql: `UPDATE generations SET error_message = 'It failed: said by a call-back only.' WHERE ${FAILED}` },
  ],
  'success-has-an-output': [change('runs', { hasSucceeded: false }, ({ hasSucceeded }) => hasSucceeded)],
  'runs-have-a-generation': [
    { change: (rows) => void rows['runs']?.push({ ...rows['runs'][0], number: 99, id: 'other', prompt: 'x' }) },
  ],
  'failing-endpoint-has-failed': [
    { sql: `UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = 'failing'` },
  ],
  'endpoint-change-holds': [
    change('seen_endpoints', { token: 'two' }),
    change('seen_endpoints', { isEnabled: false }),
    change('seen_endpoints', { isDeleted: true }),
    change('seen_endpoints', { events: ['generation.failed'] }),
  ],
  'succeeded-delivery-was-accepted': [{ change: (rows) => void rows['accepted_messages']?.pop() }],
  'mail-is-sent': [
    { change: (rows) => void rows['mails']?.pop() },
    { sql: `UPDATE emails SET status = 'failed', sent_at = NULL` },
  ],
  'mail-has-a-cause': [
    add('mails', { uuid: 'x', recipient: 'x', isCut: false }),
    change('mails', { recipient: 'other@example.com' }),
  ],
  'mail-is-sent-once': [
    { change: (rows) => (rows['mails'] = Array.from({ length: 4 }, () => rows['mails']?.[0] ?? {})) },
  ],
};

describe('the comparison of a chaos run with the database', () => {
  const comparisons = [...COMPARISONS, ...DRAINED_COMPARISONS];
  let client: pg.Client;

  before(async () => {
    client = new pg.Client(await createDatabase());
    await client.connect();
    await client.query(AUDIT_TRIGGERS_SQL);
    await writeLedgerFixture(client);
    await client.query(FIXTURE_SQL);
    await client.query('DELETE FROM chaos.violations');
  });
  after(() => client.end());

  async function readJournal(): Promise<Rows> {
    const rows: Rows = {};
    for (const [name, sql] of Object.entries(JOURNAL_SQL)) rows[name] = (await client.query(sql)).rows;
    return rows;
  }

  async function findRules({ sql = '', change: alter }: Alteration): Promise<string[]> {
    const rows = await readJournal();
    alter?.(rows);
    await client.query('BEGIN');
    try {
      await client.query(sql);
      const found = await runComparisons(client, comparisons, rows);
      return [...new Set(found.map(({ invariant }) => invariant))];
    } finally {
      await client.query('ROLLBACK');
    }
  }

  it('finds nothing in a journal that agrees with it', async () => {
    expect(await findRules({})).to.deep.equal([]);
  });

  it('has an alteration here for each of its rules', () => {
    const rules = comparisons.flatMap(({ rules: text }) =>
      [...text.matchAll(/\('([a-z-]+)',/g)].map(([, rule]) => rule),
    );
    const logged = [...AUDIT_TRIGGERS_SQL.matchAll(/VALUES \('([a-z-]+)'|SELECT '([a-z-]+)'/g)].map(
      ([, one, other]) => one ?? other,
    );
    expect(Object.keys(ALTERATIONS)).to.include.members(rules);
    expect(logged).to.have.members([
      'suspension-clears-the-trigger',
      'ended-grants-charge-nothing',
      'charges-keep-limits',
      'windows-match-at-every-commit',
    ]);
  });

  for (const [rule, alterations] of Object.entries(ALTERATIONS))
    it(`reports ${rule}`, async () => {
      for (const [index, alteration] of alterations.entries())
        expect(await findRules(alteration), `alteration ${index}`).to.deep.equal([rule]);
    });

  it('finds what triggers have logged at the moment of a change', async () => {
    const charge = `UPDATE spending_limits SET used = credits + 1 WHERE credits IS NOT NULL; SET CONSTRAINTS ALL IMMEDIATE`;
    expect(await findRules({ sql: charge })).to.have.members(['charges-keep-limits', 'windows-match-at-every-commit']);
    const generation = `INSERT INTO generations
      SELECT (jsonb_populate_record(g, '{"uuid": "${randomUUID()}", "number": 9999, "oauth_client_id": "ended"}')).*
        FROM generations g WHERE account_id = ${CUSTOMER} LIMIT 1`;
    expect(await findRules({ sql: generation })).to.include('ended-grants-charge-nothing');
    const suspension = `ALTER TABLE accounts DISABLE TRIGGER accounts_clear_auto_topup_trigger;
      UPDATE accounts SET auto_topup_triggered_at = now(), suspended_at = now() WHERE id = ${CUSTOMER}`;
    expect(await findRules({ sql: suspension })).to.deep.equal(['suspension-clears-the-trigger']);
  });
});

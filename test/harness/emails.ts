import { randomUUID } from 'node:crypto';
import type { EmailKind } from '../../shared/spec/events.ts';
import { EMAIL_KINDS } from '../../shared/spec/events.ts';
import type { EmailParams } from '../../shared/domain/emails/emailParams.ts';
import type { TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

const ORIGIN = {
  network: '192.0.2.0/24',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
};

/** Facts for a message of each kind. */
export const EXAMPLE_PARAMS: EmailParams = {
  welcome: {},
  plan_active: {
    plan: 'pro',
    credits: 1_100,
    next_credits_at: '2027-04-14T15:09:00.000Z',
    renews_at: '2028-03-14T15:09:00.000Z',
  },
  credits_low: { balance: 1_050, threshold: 1_100 },
  auto_topup_failed: { kind: 'automatic', amount_cents: 5_000, failure_code: 'declined' },
  auto_topup_disabled: { reason: 'authentication_required' },
  payment_failed: { plan: 'pro', spendable_until: '2027-03-14T15:09:00.000Z' },
  renewal_upcoming: { plan: 'pro', amount_cents: 34_800, renews_at: '2027-03-14T15:09:00+00:00', has_tax: false },
  payout_sent: { amount_cents: 10_444 },
  payout_setup_missing: { amount_cents: 10_440 },
  webhook_disabled: { url: 'https://example.com/hook?a=1&b=2', reason: 'gone' },
  key_created: { name: 'CI <b>', prefix: 'svc_01234567', ...ORIGIN },
  application_connected: { application: 'An assistant', host: 'assistant.example', ...ORIGIN },
  new_sign_in: { provider: 'github', ...ORIGIN },
  member_invited: {
    inviter: 'bob@example.com',
    account: 'owner@example.com',
    role: 'developer',
    expires_at: '2027-03-21T15:09:00.000Z',
    invitation: '01977e2c-0000-7000-8000-000000000003',
    sent_count: 1,
  },
  member_removed: { account: 'owner@example.com' },
  member_role_changed: { account: 'owner@example.com', role: 'viewer' },
  account_handed_over: { owner: 'ann@example.com', ...ORIGIN },
  account_received: { former_owner: 'owner@example.com' },
  identity_removed: {
    person_uuid: '01977e2c-0000-7000-8000-000000000001',
    uuid: '01977e2c-0000-7000-8000-000000000002',
    provider: 'google',
    issuer: 'https://accounts.google.com',
    subject: '1',
    email: 'ann@example.com',
    created_at: '2027-01-14T15:09:00.000Z',
    staff_since: null,
    signed_in_at: '2027-03-14T15:00:00.000Z',
    undo_until: '2027-03-21T15:09:00.000Z',
    ...ORIGIN,
  },
};

/** Queues a message, as the dispatch of an event does. @returns its row's uuid. */
export async function queueEmail(
  service: TestService,
  { email }: TestCustomer,
  kind: EmailKind,
  params: object = EXAMPLE_PARAMS[kind],
): Promise<string> {
  const [row] = await service.sql(
    `WITH email AS (
       INSERT INTO emails (account_id, kind, cause, params, created_at)
       SELECT id, $2, $3, $4, $5 FROM accounts WHERE email = $1 RETURNING uuid, id, account_id
     ), task AS (
       INSERT INTO tasks (kind, key, account_id, run_at, created_at)
       SELECT 'email.send', id, account_id, $5, $5 FROM email
     )
     SELECT uuid FROM email`,
    [email, kind, randomUUID(), JSON.stringify(params), service.now],
  );
  return row.uuid;
}

/** Queues a message of each kind. */
export async function queueAllKinds(service: TestService, customer: TestCustomer): Promise<void> {
  for (const kind of EMAIL_KINDS) await queueEmail(service, customer, kind);
}

/** Reads the row of a message; undefined if it was deleted. */
export async function readEmail(service: TestService, uuid: string) {
  return (await service.sql('SELECT * FROM emails WHERE uuid = $1', [uuid]))[0];
}

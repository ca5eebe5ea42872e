import { createHash } from 'node:crypto';
import type { ApiResponse, TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

/** An endpoint that takes an Idempotency-Key, with a request for it. */
export interface IdempotentEndpoint {
  path: string;
  status: number;
  body: object;
  other: object;
  /** Plan of the account that sends the request. */
  plan: string | null;
  /** Counts how often the request has taken effect for an account. */
  effects: (service: TestService, customer: TestCustomer) => Promise<number>;
}

const countEntries = (type: string) => async (_service: TestService, customer: TestCustomer) =>
  (await customer.ledger()).filter(([entry]) => entry === type).length;

const countOwned =
  (table: string, condition: string) =>
  async (service: TestService, { email }: TestCustomer) => {
    const owner = '(SELECT id FROM accounts WHERE email = $1)';
    return (await service.sql(`SELECT 1 FROM ${table} WHERE account_id = ${owner} AND ${condition}`, [email])).length;
  };

export const IDEMPOTENT_ENDPOINTS: IdempotentEndpoint[] = [
  {
    path: '/api/billing/checkout/',
    status: 200,
    body: { plan: 'pro' },
    other: { plan: 'lite' },
    plan: null,
    effects: countEntries('grant'),
  },
  {
    path: '/api/billing/topup/',
    status: 200,
    body: { amount_cents: 5000 },
    other: { amount_cents: 5001 },
    plan: 'lite',
    effects: countEntries('topup'),
  },
  {
    path: '/api/keys/create/',
    status: 201,
    body: { name: 'robot' },
    other: { name: 'robot 2' },
    plan: null,
    effects: countOwned('api_keys', `name LIKE 'robot%'`),
  },
  {
    path: '/api/webhooks/create/',
    status: 201,
    body: { url: 'https://example.com/robot' },
    other: { url: 'https://example.com/robot-2' },
    plan: null,
    effects: countOwned('webhook_endpoints', `url LIKE '%robot%'`),
  },
  {
    path: '/api/generations/create/',
    status: 201,
    body: { model: 'imgmodel-2', prompt: 'robot', params: { resolution: '1K' } },
    other: { model: 'imgmodel-2', prompt: 'robot', params: { resolution: '2K' } },
    plan: 'studio',
    effects: countEntries('burn'),
  },
];
export const [CHECKOUT, TOPUP, KEYS] = IDEMPOTENT_ENDPOINTS as [
  IdempotentEndpoint,
  IdempotentEndpoint,
  IdempotentEndpoint,
];

export const sha256 = (text: string) => createHash('sha256').update(text).digest();
export const getReplayHeader = ({ headers }: ApiResponse) => headers.get('idempotent-replayed');

export function sendWithKey(
  customer: TestCustomer,
  { path }: IdempotentEndpoint,
  key: string,
  body: unknown,
): Promise<ApiResponse> {
  return customer.request('POST', path, { body, headers: { 'idempotency-key': key } });
}

/**
 * Returns true if a request waits for a lock and another one has read the row of its key, as it does while it waits.
 */
export async function hasWaitingRequests(service: TestService): Promise<boolean> {
  const [row] = await service.sql(
    `SELECT bool_or(wait_event_type = 'Lock') AND bool_or(query LIKE 'select%idempotent_requests%' AND
              query_start > (SELECT max(created_at) FROM idempotent_requests)) AS found
       FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return row.found === true;
}

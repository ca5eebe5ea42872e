import { expect } from 'chai';
import type { TestCustomer } from './apiClient.ts';
import { runJob } from './jobs.ts';
import type { TestService } from './testService.ts';

const SETTINGS = '/api/billing/topup/settings/';

/** A video of 70 credits. */
export const LONG_VIDEO = { model: 'vidmodel-video', params: { duration: 10, resolution: '720p' } };

export async function readTopupSettings(customer: TestCustomer): Promise<Record<string, unknown>> {
  return (await customer.request('GET', SETTINGS)).body;
}

export async function changeTopupSettings(customer: TestCustomer, body: object): Promise<void> {
  expect((await customer.request('PATCH', SETTINGS, { body })).status).to.equal(200);
}

/** Switches automatic top-ups on, of 5000 cents unless the settings name another amount. */
export function enableAutoTopups(customer: TestCustomer, settings: object = {}): Promise<void> {
  return changeTopupSettings(customer, { auto_topup_enabled: true, ...settings });
}

/** Makes the automatic top-ups of a customer an hour older, so that another one may follow. */
export async function ageAutoTopups(service: TestService, { email }: TestCustomer): Promise<void> {
  await service.sql(
    `WITH topup AS (
       UPDATE topups SET created_at = created_at - interval '61 minutes'
        WHERE kind = 'automatic' AND account_id = (SELECT id FROM accounts WHERE email = $1)
     )
     UPDATE accounts SET auto_topup_claimed_at = auto_topup_claimed_at - interval '61 minutes' WHERE email = $1`,
    [email],
  );
}

/** Has the workers charge the automatic top-ups that burns have triggered. */
export function sweepAutoTopups(service: TestService): Promise<void> {
  return runJob({ service }, 'billing', 'autoTopups.sweep');
}

import { completeGeneration } from '../../shared/domain/generations/execution/completeOrFail.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { createEndpoint } from '../../shared/domain/webhooks/endpoints.ts';
import type { WebhookEventType } from '../../shared/spec/events.ts';
import { IMAGE, type TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

interface Owner {
  email: string;
}

export interface RecordedEvent {
  id: number;
  uuid: string;
  type: string;
  subject: string;
  details: Record<string, unknown>;
  body: string | null;
  created_at: Date;
  dispatched_at: Date | null;
}

export async function getAccountId(service: TestService, { email }: Owner): Promise<number> {
  const [row] = await service.sql('SELECT id FROM accounts WHERE email = $1', [email]);
  return Number(row.id);
}

/** Reads the recorded events of an account, oldest first. */
export function readEvents(service: TestService, { email }: Owner): Promise<RecordedEvent[]> {
  return service.sql(
    `SELECT e.* FROM outbox_events e JOIN accounts a ON a.id = e.account_id WHERE a.email = $1 ORDER BY e.id`,
    [email],
  );
}

/** Adds an endpoint whose host does not exist, so that its deliveries stay pending. @returns its uuid. */
export async function addEndpoint(
  service: TestService,
  owner: Owner,
  events: WebhookEventType[] | null = null,
): Promise<string> {
  const url = 'https://receiver.invalid/webhooks';
  const { endpoint } = await createEndpoint(buildServiceCaller(await getAccountId(service, owner)), { url, events });
  return endpoint.uuid;
}

/** Reads the deliveries of an account with the types of their events, oldest first. */
export function readDeliveries(service: TestService, { email }: Owner): Promise<any[]> {
  return service.sql(
    `SELECT d.*, e.type, e.subject, w.url AS endpoint_url
       FROM webhook_deliveries d
       JOIN webhook_endpoints w ON w.id = d.endpoint_id
       JOIN outbox_events e ON e.id = d.event_id
       JOIN accounts a ON a.id = w.account_id
      WHERE a.email = $1 ORDER BY d.id`,
    [email],
  );
}

/** Reads the kinds of the e-mail messages to an account, oldest first. */
export async function readEmailKinds(service: TestService, { email }: Owner): Promise<string[]> {
  const rows = await service.sql(
    'SELECT e.kind FROM emails e JOIN accounts a ON a.id = e.account_id WHERE a.email = $1 ORDER BY e.id',
    [email],
  );
  return rows.map(({ kind }) => kind as string);
}

/** Creates a generation of a service without workers. @returns its uuid. */
export async function createQueuedGeneration(customer: TestCustomer, options: object = {}): Promise<string> {
  const { body } = await customer.request('POST', '/api/generations/create/', {
    body: { ...IMAGE, prompt: 'a lighthouse', ...options },
  });
  return body.uuid as string;
}

/** Creates a generation and ends it as a worker does, without one. @returns its uuid. */
export async function createEndedGeneration(
  service: TestService,
  customer: TestCustomer,
  options: object = {},
): Promise<string> {
  const uuid = await createQueuedGeneration(customer, options);
  await completeGeneration({
    uuid,
    account_id: await getAccountId(service, customer),
    output_path: 'a/image.png',
    thumbnail_path: 'a/thumbnail.webp',
    more_outputs: null,
    is_watermarked: false,
    provider_cost_cents: null,
  });
  return uuid;
}

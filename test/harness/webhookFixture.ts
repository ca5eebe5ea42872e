import { getDefaultSecret } from '../../shared/domain/webhooks/defaultEndpoint.ts';
import { deliverWebhooks } from '../../shared/domain/webhooks/deliverWebhooks.ts';
import { resetDraining, startDraining, waitForInFlight } from '../../shared/lib/drain.ts';
import type { WebhookDelivery } from '../../shared/tables/WebhookDelivery.ts';
import type { WebhookEndpoint } from '../../shared/tables/WebhookEndpoint.ts';
import type { WebhookReceiver } from '../fakes/webhookReceiver.ts';
import type { ApiResponse, TestCustomer } from './apiClient.ts';
import { startTestService, type TestService } from './testService.ts';
import { useService } from './useService.ts';

export const ENDPOINT_URL = 'https://example.com/webhooks';

/** Starts a service of two APIs that encrypts the secrets of endpoints, and delivers nothing. */
export function startWebhookService(): Promise<TestService> {
  return startTestService({ apis: 2, workers: 0, env: { SECRET_KEY: 'the-secret-key-of-the-tests' } });
}

/** Requests an endpoint for all events, unless the body says otherwise. */
export function requestEndpoint(customer: TestCustomer, body: object = {}): Promise<ApiResponse> {
  return customer.request('POST', '/api/webhooks/create/', { body: { url: ENDPOINT_URL, ...body } });
}

/** Reads the row of an endpoint; undefined if it was deleted. */
export async function readEndpointByUuid(service: TestService, uuid: string) {
  return (await service.sql('SELECT * FROM webhook_endpoints WHERE uuid = $1', [uuid]))[0];
}

/** An endpoint as its owner created it. */
export interface TestEndpoint {
  id: number;
  uuid: string;
  url: string;
  secret: string;
  publicKey: string;
}

/** Creates an endpoint as a client does. */
export async function createTestEndpoint(
  service: TestService,
  customer: TestCustomer,
  url: string,
): Promise<TestEndpoint> {
  const { status, body } = await requestEndpoint(customer, { url });
  if (status !== 201) throw new Error(`Endpoint not created: ${status} ${JSON.stringify(body)}`);
  const [{ id }] = (await service.sql('SELECT id FROM webhook_endpoints WHERE uuid = $1', [body.uuid])) as [
    { id: string },
  ];
  return { id: Number(id), uuid: body.uuid, url, secret: body.secret, publicKey: body.public_key };
}

/**
 * Inserts dispatched events with a delivery each, due at the service's current time, and makes the endpoint due.
 * @param url address of deliveries of the default endpoint.
 */
export async function insertDeliveries(
  service: TestService,
  endpointId: number,
  count = 1,
  url: string | null = null,
): Promise<void> {
  await service.sql(
    `WITH recorded AS (
       INSERT INTO outbox_events (account_id, type, subject, body, created_at, dispatched_at)
       SELECT e.account_id, 'webhook.test', gen_random_uuid()::text,
              json_build_object('type', 'webhook.test', 'timestamp', $3::timestamptz, 'data', json_build_object('n', n))::text,
              $3::timestamptz, $3::timestamptz
         FROM webhook_endpoints e, generate_series(1, $2::int) AS n WHERE e.id = $1
       RETURNING id
     ), delivery AS (
       INSERT INTO webhook_deliveries (endpoint_id, event_id, url, next_attempt_at, created_at)
       SELECT $1::bigint, id, $4::text, $3::timestamptz, $3::timestamptz FROM recorded ORDER BY id
     )
     UPDATE webhook_endpoints SET next_delivery_at = least(next_delivery_at, $3::timestamptz) WHERE id = $1`,
    [endpointId, count, service.now, url],
  );
}

/** Rows of the deliveries of an endpoint, oldest first. */
export async function readDeliveries(
  service: TestService,
  endpointId: number,
): Promise<(WebhookDelivery & { event_uuid: string })[]> {
  return service.sql(
    `SELECT d.*, v.uuid AS event_uuid FROM webhook_deliveries d JOIN outbox_events v ON v.id = d.event_id
      WHERE d.endpoint_id = $1 ORDER BY d.id`,
    [endpointId],
  );
}

export async function readEndpoint(service: TestService, endpointId: number): Promise<WebhookEndpoint> {
  return (await service.sql('SELECT * FROM webhook_endpoints WHERE id = $1', [endpointId]))[0];
}

/** Delivers in the test's process, as the job does, and waits for all attempts. */
export async function deliverDue(): Promise<void> {
  await deliverWebhooks();
  await waitForInFlight();
}

/** Stops a receiver, which ends the attempts that it does not respond to, and waits until all are recorded. */
export async function endAttempts(receiver: WebhookReceiver): Promise<void> {
  startDraining();
  await receiver.stop();
  await waitForInFlight();
  resetDraining();
}

/** Moves the clock of a service to shortly after a time. */
export function moveClockAfter(service: TestService, date: Date): Promise<void> {
  return service.moveClockTo(new Date(date.getTime() + 10));
}

/** Returns the default endpoint of a customer. Its deliveries have an address each. */
export async function createDefaultEndpoint(service: TestService, { email }: TestCustomer): Promise<TestEndpoint> {
  const [account] = await service.sql('SELECT id FROM accounts WHERE email = $1', [email]);
  const { uuid, secret, publicKey } = await getDefaultSecret(Number(account.id));
  const [{ id }] = (await service.sql('SELECT id FROM webhook_endpoints WHERE uuid = $1', [uuid])) as [{ id: string }];
  return { id: Number(id), uuid, url: '', secret, publicKey };
}

/** {@link startWebhookService} before the tests of the suite, and stops it after them. */
export const useWebhookService = (): TestService => useService(startWebhookService);

import type { CreateWebhook, UpdateWebhook } from '../../../../packages/client/src/index.ts';
import type { WebhookEventType } from '../../../../shared/spec/events.ts';
import { type Api, call, type Called, callUntilKnown } from '../api.ts';
import { newStepId, retryUntilKnown, sleepUnlessStopped, type Step } from '../clientState.ts';
import type { KnownKeys, ObservedEndpoint } from '../journal.ts';
import type { EndpointState } from '../webhooks/endpointHistory.ts';

/** With more endpoints than this, endpoints are changed rather than created. */
const MAX_ENDPOINTS = 4;
/** An attempt of unknown outcome may be executed this much later. */
const LATE_ATTEMPT_MS = 30_000;
/** An idempotency key is valid for a day. A request that was repeated later may have had an effect twice. */
const KEY_VALID_MS = 20 * 3_600_000;
const GENERATION_TYPES: WebhookEventType[] = ['generation.succeeded', 'generation.failed'];
/** Selections of types; null for all. */
const SELECTIONS: readonly (WebhookEventType[] | null)[] = [
  null,
  null,
  GENERATION_TYPES,
  ['generation.succeeded'],
  ['generation.failed', 'credits.granted'],
  ['topup.succeeded', 'topup.failed', 'subscription.updated'],
];

type KnownEndpoint = ObservedEndpoint & { uuid: string };
type EndpointAction = (step: Step, endpoint: KnownEndpoint) => Promise<unknown>;

/** Actions on every endpoint, and those on endpoints that may miss events. */
const ACTIONS: readonly EndpointAction[] = [moveEndpoint, rotateKeys, rotateKeys, sendTest, redeliverMessage];
const RESTRICTIVE_ACTIONS: readonly EndpointAction[] = [switchEndpoint, switchEndpoint, changeTypes, deleteEndpoint];

/** Endpoints that a customer who only sends test events creates. */
const MAX_TESTED_ENDPOINTS = 8;
/** Number of test events that are sent together, and the time between two of them. */
const TEST_EVENTS = [2, 5] as const;
const BETWEEN_TESTS_MS = 40;
/** Time without further test events: a delivery that was missed must not become due by the next event. */
const AFTER_TESTS_MS = 10_000;

/** Creates an endpoint, or changes one. Changes of an endpoint are made one after the other. */
export async function changeWebhooks(step: Step): Promise<void> {
  const { customer, random } = step;
  if (!customer.role.hasEndpoints) return;
  const { own, free } = listEndpoints(step);
  if (own.length < MAX_ENDPOINTS && random.chance(free.length === 0 ? 1 : 0.3)) {
    await createEndpoint(step, random.pick(SELECTIONS), false);
    return;
  }
  if (free.length === 0) return;
  const endpoint = random.pick(free);
  const isRestrictive = !endpoint.isLasting && random.chance(0.6);
  endpoint.isBusy = true;
  await random.pick(isRestrictive ? RESTRICTIVE_ACTIONS : ACTIONS)(step, endpoint);
  endpoint.isBusy = false;
}

/** Lists the endpoints of a customer, and those of them that can be changed now. */
function listEndpoints({ customer, state }: Step): { own: ObservedEndpoint[]; free: KnownEndpoint[] } {
  const own = state.journal.webhooks.endpoints.filter(
    ({ accountUuid, changes }) => accountUuid === customer.uuid && changes.at(-1)?.state.isDeleted !== true,
  );
  const free = own.filter(
    (endpoint): endpoint is KnownEndpoint =>
      endpoint.uuid !== null && !endpoint.isBusy && Date.now() >= endpoint.nextChangeAt,
  );
  return { own, free };
}

/**
 * Sends test events to an endpoint so close together that it is released after one while the next is recorded, and then
 * none for a while.
 */
export async function sendTestEvents(step: Step): Promise<void> {
  const { state, random } = step;
  const { own, free } = listEndpoints(step);
  if (free.length === 0) {
    if (own.length < MAX_TESTED_ENDPOINTS) await createEndpoint(step, null, false);
    return;
  }
  const endpoint = random.pick(free);
  endpoint.isBusy = true;
  let pauseMs = 0;
  const times = Array.from({ length: random.nextBetween(...TEST_EVENTS) }, () => {
    pauseMs += random.nextBetween(0, BETWEEN_TESTS_MS);
    return pauseMs;
  });
  await Promise.all(times.map((time) => sleepUnlessStopped(state, time).then(() => sendTest(step, endpoint))));
  endpoint.nextChangeAt = Date.now() + AFTER_TESTS_MS;
  endpoint.isBusy = false;
}

/** Creates the endpoint of a customer that lasts until the end and receives the ends of all generations. */
export function createLastingEndpoint(step: Step): Promise<boolean> {
  return createEndpoint(step, step.random.pick([null, GENERATION_TYPES]), true);
}

async function createEndpoint(step: Step, events: WebhookEventType[] | null, isLasting: boolean): Promise<boolean> {
  const { customer, state } = step;
  const endpoint: ObservedEndpoint = {
    accountUuid: customer.uuid as string,
    uuid: null,
    tokens: [],
    isLasting,
    changes: [],
    keys: [],
    rotations: [],
    keysUncertainFrom: null,
    isBusy: true,
    nextChangeAt: 0,
  };
  state.journal.webhooks.endpoints.push(endpoint);
  const initial = { token: newToken(step, endpoint), events, isEnabled: true, isDeleted: false };
  const startedAt = state.now();
  const body = { url: state.receiver.buildUrl(initial.token), ...(events === null ? {} : { events }) } as CreateWebhook;
  const idempotencyKey = newStepId(step);
  const create = (api: Api) => api.webhooks.create(body, { idempotencyKey });
  // There may be ten endpoints already, some of them unknown.
  const response = await requestChange(step, endpoint, initial, 'create webhook', create, ['validation_error']);
  if (!response.isGood || isExpired(step, startedAt)) return false;
  endpoint.uuid = response.body.uuid;
  endpoint.keys.push(readKeys(response.body));
  endpoint.isBusy = false;
  return true;
}

function readKeys({ secret, public_key: publicKey }: { secret: string; public_key: string }): KnownKeys {
  return { secret, publicKey, confirmedAt: Date.now() };
}

/** Registers another address of an endpoint. */
function newToken(step: Step, endpoint: ObservedEndpoint): string {
  const token = newStepId(step).replaceAll(/[^\w.-]/g, '_');
  endpoint.tokens.push(token);
  step.state.journal.webhooks.targets.set(token, { accountUuid: endpoint.accountUuid, endpoint, prompt: null });
  return token;
}

function isExpired({ state }: Step, startedAt: Date): boolean {
  return Math.abs(state.now().getTime() - startedAt.getTime()) > KEY_VALID_MS;
}

/** Sends a request that leads to a state of an endpoint, until its outcome is known. */
async function requestChange<Result>(
  step: Step,
  endpoint: ObservedEndpoint,
  state: EndpointState,
  kind: string,
  send: (api: Api) => Promise<Result>,
  expects: readonly 'validation_error'[] = [],
): Promise<Called<Result>> {
  const change = { requestedAt: Date.now(), confirmedAt: null as number | null, state };
  endpoint.changes.push(change);
  let hasUnknownAttempt = false;
  const response = await retryUntilKnown(step, async (attempt) => {
    const isRepeated = attempt > 0 ? (['not_found'] as const) : [];
    const observed = await call(step, kind, send, { expects: [...expects, ...isRepeated] });
    if (observed.isUnknown) {
      hasUnknownAttempt = true;
      endpoint.nextChangeAt = Date.now() + LATE_ATTEMPT_MS;
    }
    return observed;
  });
  const isDone = response.isGood || (state.isDeleted && response.status === 404);
  if (isDone) change.confirmedAt = Date.now();
  // A rejected request has no effect.
  else if (!response.isUnknown && !hasUnknownAttempt) endpoint.changes.splice(endpoint.changes.indexOf(change), 1);
  return response;
}

/** Sends all fields, so that the state is known after a change of unknown outcome. */
function updateEndpoint(step: Step, endpoint: KnownEndpoint, changed: Partial<EndpointState>) {
  const state = { ...(endpoint.changes.at(-1)?.state as EndpointState), ...changed };
  const { token, events, isEnabled: enabled } = state;
  const body = { url: step.state.receiver.buildUrl(token), events, enabled } as UpdateWebhook;
  return requestChange(step, endpoint, state, 'update webhook', (api) => api.webhooks.update(endpoint.uuid, body));
}

function moveEndpoint(step: Step, endpoint: KnownEndpoint) {
  return updateEndpoint(step, endpoint, { token: newToken(step, endpoint) });
}

/** Disables an endpoint, and enables it again after a moment; or not before another client does. */
async function switchEndpoint(step: Step, endpoint: KnownEndpoint): Promise<void> {
  const { random } = step;
  const isEnabled = endpoint.changes.at(-1)?.state.isEnabled === true;
  await updateEndpoint(step, endpoint, { isEnabled: !isEnabled });
  if (!isEnabled || random.chance(0.3) || Date.now() < endpoint.nextChangeAt) return;
  await sleepUnlessStopped(step.state, random.nextBetween(0, 2_000));
  await updateEndpoint(step, endpoint, { isEnabled: true });
}

function changeTypes(step: Step, endpoint: KnownEndpoint) {
  return updateEndpoint(step, endpoint, { events: step.random.pick(SELECTIONS) });
}

function deleteEndpoint(step: Step, endpoint: KnownEndpoint) {
  const state = { ...(endpoint.changes.at(-1)?.state as EndpointState), isEnabled: false, isDeleted: true };
  return requestChange(step, endpoint, state, 'delete webhook', (api) => api.webhooks.delete(endpoint.uuid));
}

/** Rotates the keys, with an idempotency key so that no unknown keys are left behind. */
async function rotateKeys(step: Step, endpoint: KnownEndpoint): Promise<void> {
  const startedAt = step.state.now();
  const requestedAt = Date.now();
  endpoint.rotations.push(requestedAt);
  const idempotencyKey = `rotate-${requestedAt}-${endpoint.uuid}`;
  const response = await callUntilKnown(step, 'rotate webhook secret', (api) =>
    api.webhooks.rotateSecret(endpoint.uuid, { idempotencyKey }),
  );
  if (response.isGood) endpoint.keys.push(readKeys(response.body));
  if (response.isUnknown || isExpired(step, startedAt)) endpoint.keysUncertainFrom ??= requestedAt;
}

function sendTest(step: Step, { uuid }: KnownEndpoint) {
  // It is disabled.
  return call(step, 'test webhook', (api) => api.webhooks.test(uuid), { expects: ['validation_error'] });
}

/** Requests one of the latest deliveries again, also one that succeeded. */
async function redeliverMessage(step: Step, { uuid }: KnownEndpoint): Promise<void> {
  const listed = await call(step, 'list deliveries', (api) => api.webhooks.deliveries(uuid).page());
  const deliveries = listed.body?.data ?? [];
  if (deliveries.length === 0) return;
  const delivery = step.random.pick(deliveries).uuid;
  // It is pending, or was deleted after a month; or the endpoint is disabled.
  const expects = ['validation_error', 'not_found'] as const;
  await call(step, 'redeliver', (api) => api.webhooks.redeliver(uuid, delivery), { expects });
}

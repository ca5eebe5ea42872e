import { type RestResponse, sendWithKey, type RestRequest } from '../restRequests.ts';
import type { ObservedKey } from '../clientStore.ts';
import { getActiveKeys, type KeyOptions } from '../customers.ts';
import { retryUntilKnown } from '../retry.ts';
import { reportViolation, newStepId, type Step } from '../clientState.ts';
import { newCreateRequest } from '../createRequests.ts';
import { sendCreate } from './create.ts';
import { probeRevokedKey } from './mcpTools.ts';

const PARALLEL_REVOCATIONS = 4;
/** With more known keys than this, keys are revoked rather than created. */
const MAX_KEYS = 5;

/** Creates a key, or revokes one and checks that it is rejected: one of several, or the new one after its first uses. */
export async function changeKeys(step: Step): Promise<void> {
  const good = getActiveKeys(step.customer);
  if (good.length > 1 && (good.length >= MAX_KEYS || step.random.chance(0.5))) {
    await revokeKey(step, step.random.pick(good));
    return;
  }
  const created = await createKey(step, (request) => sendWithKey(step, request));
  if (created === undefined || step.random.chance(0.3)) return;
  await Promise.all(step.state.addresses.map((address) => sendWithKey(step, { ...READ_USAGE, address }, created)));
  // Other clients of the account may have revoked its other keys meanwhile.
  if (getActiveKeys(step.customer).length > 1) await revokeKey(step, created);
}

const READ_USAGE = {
  kind: 'usage with a new key',
  method: 'GET',
  path: '/api/usage/summary/',
  status: 200,
  shape: 'usage',
} as const;

/**
 * Creates a key, with an idempotency key so that no unknown key is left behind.
 * @param send sends the request with a credential.
 * @param options options of the key; a key with options is not added to those that every action uses.
 */
export async function createKey(
  step: Step,
  send: (request: RestRequest) => Promise<RestResponse>,
  options?: Partial<KeyOptions> & { expires_at?: string; credit_limit?: object },
): Promise<ObservedKey | undefined> {
  const idempotencyKey = newStepId(step);
  const name = `key ${idempotencyKey}`;
  const startedAt = step.state.now();
  const request: RestRequest = {
    kind: 'make key',
    method: 'POST',
    path: '/api/keys/create/',
    body: { name, ...options },
    headers: { 'idempotency-key': idempotencyKey },
    // There may be twenty keys already, some of them unknown; or the key of the request was revoked while it ran.
    expectedErrors: ['validation_error', 'insufficient_scope'],
    status: 201,
    shape: 'createdKey',
  };
  const { keysInProgress } = step.state;
  keysInProgress.add(name);
  const response = await retryUntilKnown(step, () => send(request));
  const observed = response.isGood ? recordKey(step, response.body, options?.expires_at !== undefined) : undefined;
  if (observed !== undefined && options === undefined) step.customer.keys.push(observed);
  keysInProgress.delete(name);
  if (response.status === 400) await revokeUnknownKeys(step, send);
  if (observed === undefined) return undefined;
  if (!step.random.chance(0.2)) return observed;
  const again = await send(request);
  const isSameDay = step.state.now().getTime() - startedAt.getTime() < 20 * 3_600_000;
  if (again.isGood && again.body.uuid !== observed.uuid && isSameDay) {
    reportViolation(step, 'same-key-same-response', idempotencyKey, `${observed.uuid} and ${again.body.uuid}`);
  }
  return observed;
}

/** @param expires true for a key that the service revokes by itself. */
function recordKey(
  { state, customer }: Step,
  { uuid, key }: { uuid: string; key: string },
  expires: boolean,
): ObservedKey {
  const observed: ObservedKey = {
    uuid,
    key,
    accountUuid: customer.uuid as string,
    revokeRequestedAt: expires ? performance.now() : null,
    revokedAt: null,
  };
  state.store.keys.set(uuid, observed);
  return observed;
}

/** At the limit of keys, revokes those whose secret is unknown, because they cannot be used. */
async function revokeUnknownKeys(step: Step, send: (question: RestRequest) => Promise<RestResponse>): Promise<void> {
  const listed = await send({ kind: 'list keys', method: 'GET', path: '/api/keys/', status: 200, shape: 'apiKeys' });
  if (!listed.isGood) return;
  for (const { uuid, name, revoked } of listed.body.data as { uuid: string; name: string; revoked: boolean }[]) {
    const isKnown = step.state.store.keys.has(uuid) || step.state.keysInProgress.has(name);
    if (!revoked && !isKnown) await send(buildRevocation(uuid));
  }
}

function buildRevocation(uuid: string): RestRequest {
  return { kind: 'revoke key', method: 'POST', path: `/api/keys/${uuid}/revoke/`, status: 200, shape: 'revoked' };
}

/** Revokes a key, sometimes several times at once, and uses it at every address as soon as that is acknowledged. */
async function revokeKey(step: Step, key: ObservedKey): Promise<void> {
  key.revokeRequestedAt = performance.now();
  const times = step.random.chance(0.25) ? PARALLEL_REVOCATIONS : 1;
  const responses = await Promise.all(
    Array.from({ length: times }, () => retryUntilKnown(step, () => sendWithKey(step, buildRevocation(key.uuid)))),
  );
  if (!responses.some(({ isGood }) => isGood)) return;
  key.revokedAt = performance.now();
  await Promise.all(step.state.addresses.map((address) => useRevokedKey(step, key, address)));
}

/** Creates and then reads with a revoked key: the rejection of a read would remove it from the memory of the process. */
async function useRevokedKey(step: Step, key: ObservedKey, address: string): Promise<void> {
  await sendCreate(step, newCreateRequest(step, newStepId(step)), address, key);
  await tryRevokedKey(step, key, address);
}

/** Tries a key that was revoked some time ago. */
export async function tryPreviouslyRevokedKey(step: Step): Promise<void> {
  const revoked = step.customer.keys.filter(({ revokedAt }) => revokedAt !== null);
  if (revoked.length > 0) await tryRevokedKey(step, step.random.pick(revoked), step.random.pick(step.state.addresses));
}

/** Sends a request with a key that must be rejected; `sendRest` checks the response. */
export async function tryRevokedKey(step: Step, key: ObservedKey, address: string): Promise<void> {
  const uuid = step.customer.generations.at(-1) ?? crypto.randomUUID();
  const common = { kind: 'use revoked key', address } as const;
  const expectedErrors = ['not_found', 'validation_error', 'subscription_required', 'insufficient_credits'] as const;
  switch (step.random.nextBelow(4)) {
    case 0:
      await sendWithKey(
        step,
        { ...common, method: 'GET', path: `/api/generations/${uuid}/`, expectedErrors, status: 401, shape: 'error' },
        key,
      );
      break;
    case 1:
      await sendWithKey(
        step,
        {
          ...common,
          method: 'DELETE',
          path: `/api/generations/${crypto.randomUUID()}/`,
          expectedErrors,
          status: 401,
          shape: 'error',
        },
        key,
      );
      break;
    case 2:
      await probeRevokedKey(step, key, address);
      break;
    default:
      await sendWithKey(
        step,
        { ...common, method: 'GET', path: '/api/usage/summary/', expectedErrors, status: 401, shape: 'error' },
        key,
      );
  }
}

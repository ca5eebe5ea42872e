import type { CreateApiKey, CreatedApiKey } from '../../../../packages/client/src/index.ts';
import { type Api, call, type Called, type CallOptions } from '../api.ts';
import { everywhere, newStepId, report, retryUntilKnown, sleepUnlessStopped, type Step } from '../clientState.ts';
import { type CreateRequest, newCreateRequest } from '../createRequests.ts';
import { getActiveKeys, type KeyOptions, type RestrictedKey } from '../customers.ts';
import type { ObservedKey } from '../journal.ts';
import { initializeMcp } from '../mcpRequests.ts';
import { createAndReadEverywhere, isAdmitted, sendCreate } from './generations.ts';

const PARALLEL_REVOCATIONS = 4;
/** With more known keys than this, keys are revoked rather than created. */
const MAX_KEYS = 5;

type Caller = <Result>(
  step: Step,
  kind: string,
  send: (api: Api) => Promise<Result>,
  options?: CallOptions,
) => Promise<Called<Result>>;

/**
 * Creates a key, or revokes one and checks that it is rejected: one of several, or the new one after its first uses.
 */
export async function changeKeys(step: Step): Promise<void> {
  const good = getActiveKeys(step.customer);
  if (good.length > 1 && (good.length >= MAX_KEYS || step.random.chance(0.5)))
    return revokeKey(step, step.random.pick(good));
  const key = await createKey(step);
  if (key === undefined || step.random.chance(0.3)) return;
  await everywhere(step, (address) =>
    call(step, 'usage with a new key', (api) => api.usage.summary(), { key, address }),
  );
  // Other clients of the account may have revoked its other keys meanwhile.
  if (getActiveKeys(step.customer).length > 1) await revokeKey(step, key);
}

/**
 * Creates a key, with an idempotency key so that no unknown key is left behind.
 * @param caller sends the requests with a credential.
 * @param options options of the key; a key with options is not added to those that every action uses.
 */
export async function createKey(
  step: Step,
  caller: Caller = call,
  options?: Omit<CreateApiKey, 'name'>,
): Promise<ObservedKey | undefined> {
  const { state, customer, random } = step;
  const idempotencyKey = newStepId(step);
  const name = `key ${idempotencyKey}`;
  const startedAt = state.now();
  const send = () =>
    caller(step, 'make key', (api) => api.keys.create({ name, ...options }, { idempotencyKey }), {
      // There may be twenty keys already, some of them unknown; or the key of the request was revoked while it ran.
      expects: ['validation_error', 'insufficient_scope'],
    });
  state.keysInProgress.add(name);
  const response = await retryUntilKnown(step, send);
  const observed = response.isGood ? recordKey(step, response.body, options?.expires_at != null) : undefined;
  if (observed !== undefined && options === undefined) customer.keys.push(observed);
  state.keysInProgress.delete(name);
  if (response.status === 400) await revokeUnknownKeys(step, caller);
  if (observed === undefined || !random.chance(0.2)) return observed;
  const again = await send();
  const isSameDay = state.now().getTime() - startedAt.getTime() < 20 * 3_600_000;
  if (again.isGood && again.body.uuid !== observed.uuid && isSameDay)
    report(step, 'same-key-same-response', idempotencyKey, `${observed.uuid} and ${again.body.uuid}`);
  return observed;
}

/** @param expires true for a key that the service revokes by itself. */
function recordKey({ state, customer }: Step, { uuid, key }: CreatedApiKey, expires: boolean): ObservedKey {
  const accountUuid = customer.uuid as string;
  const revokeRequestedAt = expires ? performance.now() : null;
  const observed: ObservedKey = { uuid, key, accountUuid, revokeRequestedAt, revokedAt: null };
  state.journal.keys.set(uuid, observed);
  return observed;
}

/** At the limit of keys, revokes those whose secret is unknown, because they cannot be used. */
async function revokeUnknownKeys(step: Step, caller: Caller): Promise<void> {
  const listed = await caller(step, 'list keys', (api) => api.keys.list().page());
  for (const { uuid, name, revoked } of listed.isGood ? listed.body.data : []) {
    const isKnown = step.state.journal.keys.has(uuid) || step.state.keysInProgress.has(name);
    if (!revoked && !isKnown) await caller(step, 'revoke key', (api) => api.keys.revoke(uuid));
  }
}

/** Revokes a key, sometimes several times at once, and uses it at every address as soon as that is acknowledged. */
async function revokeKey(step: Step, key: ObservedKey): Promise<void> {
  key.revokeRequestedAt = performance.now();
  const times = step.random.chance(0.25) ? PARALLEL_REVOCATIONS : 1;
  const revoke = () => retryUntilKnown(step, () => call(step, 'revoke key', (api) => api.keys.revoke(key.uuid)));
  const responses = await Promise.all(Array.from({ length: times }, revoke));
  if (!responses.some(({ isGood }) => isGood)) return;
  key.revokedAt = performance.now();
  // Creates first: the rejection of a read would remove the key from the memory of the process.
  await everywhere(step, async (address) => {
    await sendCreate(step, newCreateRequest(step), address, key);
    await tryRevokedKey(step, key, address);
  });
}

/** Tries a key that was revoked some time ago. */
export async function tryPreviouslyRevokedKey(step: Step): Promise<void> {
  const revoked = step.customer.keys.filter(({ revokedAt }) => revokedAt !== null);
  if (revoked.length > 0) await tryRevokedKey(step, step.random.pick(revoked), step.random.pick(step.state.addresses));
}

/** Sends a request with a key that must be rejected; `call` checks the response. */
export async function tryRevokedKey(step: Step, key: ObservedKey, address: string): Promise<void> {
  const uuid = step.customer.generations.at(-1) ?? crypto.randomUUID();
  const attempts: ((api: Api) => Promise<unknown>)[] = [
    (api) => api.generations.get(uuid),
    (api) => api.generations.delete(crypto.randomUUID()),
    (api) => api.usage.summary(),
  ];
  const choice = step.random.nextBelow(attempts.length + 1);
  const attempt = attempts[choice];
  if (attempt === undefined) await initializeMcp(step, key, address);
  else await call(step, 'use revoked key', attempt, { key, address, expects: ['not_found'] });
}

const MAX_RESTRICTED_KEYS = 3;
/** Changes of one key in one action. */
const CHANGES = 5;
/** An attempt of unknown outcome may be carried out this much later. */
const LATE_ATTEMPT_MS = 30_000;
const UNRESTRICTED: KeyOptions = { scopes: null, allowed_models: null, allowed_ips: null };
/** Options that forbid some or all requests of clients, which have the address 127.0.0.1. */
const RESTRICTIONS: readonly Partial<KeyOptions>[] = [
  { scopes: ['svc:read'] },
  { scopes: ['svc:write'] },
  { allowed_models: ['imgmodel-2'] },
  { allowed_models: ['vidmodel-video'] },
  { allowed_ips: ['192.0.2.0/24', '2001:db8::/32'] },
];
/** Options that change a key and forbid nothing. */
const PERMISSIONS: readonly Partial<KeyOptions>[] = [
  {},
  { scopes: ['svc:read', 'svc:write'] },
  { allowed_models: ['imgmodel-2', 'vidmodel-video'] },
  { allowed_ips: ['127.0.0.0/8', '192.0.2.7'] },
];
/** An expired key is used this long after its expiry at the earliest: the clocks of machines differ a little. */
const EXPIRY_MARGIN_MS = 2_000;

/**
 * Uses a key with options: a new one, or one whose options it changes several times meanwhile. Checks that what the
 * options forbid is rejected afterwards.
 */
export async function useRestrictedKey(step: Step): Promise<void> {
  const { customer, random } = step;
  const { restrictedKeys } = customer;
  const usable = restrictedKeys.filter((key) => !key.isChanging && canChange(step, key));
  if (restrictedKeys.length < MAX_RESTRICTED_KEYS && (usable.length === 0 || random.chance(0.2)))
    return createRestrictedKey(step);
  if (usable.length === 0) return;
  const key = random.pick(usable);
  key.isChanging = true;
  for (let change = 0; change < CHANGES && canChange(step, key); change += 1) {
    const [isChanged] = await Promise.all([changeOptions(step, key), createEverywhere(step, key, false)]);
    if (isChanged) await useSettled(step, key);
  }
  key.isChanging = false;
}

async function createRestrictedKey(step: Step): Promise<void> {
  const restriction = nextRestriction(step);
  const created = await createKey(step, call, restriction);
  if (created === undefined) return;
  const key = { ...created, options: { ...UNRESTRICTED, ...restriction }, isChanging: true, nextChangeAt: 0 };
  step.customer.restrictedKeys.push(key);
  await useSettled(step, key);
  key.isChanging = false;
}

/** Returns one restriction after another: a short run on a slow machine has few of them, and needs each. */
function nextRestriction({ state }: Step): Partial<KeyOptions> {
  state.restrictionCount += 1;
  return RESTRICTIONS[state.restrictionCount % RESTRICTIONS.length] as Partial<KeyOptions>;
}

/** Creates and reads with a key whose options all processes know. */
async function useSettled(step: Step, key: RestrictedKey): Promise<void> {
  await createEverywhere(step, key, true);
  await readEverywhere(step, key);
}

const canChange = ({ state }: Step, { nextChangeAt }: RestrictedKey): boolean =>
  !state.isCalm && performance.now() >= nextChangeAt;

/** @returns true if the change was acknowledged. */
async function changeOptions(step: Step, key: RestrictedKey): Promise<boolean> {
  const isRestricted = RESTRICTIONS.some((some) => JSON.stringify({ ...UNRESTRICTED, ...some }) === describe(key));
  const options = { ...UNRESTRICTED, ...(isRestricted ? step.random.pick(PERMISSIONS) : nextRestriction(step)) };
  key.options = options;
  const response = await retryUntilKnown(step, async () => {
    // The key of the request may be revoked while it runs.
    const attempt = await call(step, 'change key', (api) => api.send(`PATCH /api/keys/${key.uuid}/`, options), {
      expects: ['insufficient_scope'],
    });
    // A later change would be undone by it.
    if (attempt.isUnknown) key.nextChangeAt = performance.now() + LATE_ATTEMPT_MS;
    return attempt;
  });
  return response.isGood;
}

const describe = ({ options }: RestrictedKey): string => JSON.stringify(options);

/**
 * Creates with the key at all processes: with every model if its options are known and do not change meanwhile,
 * otherwise with one.
 */
async function createEverywhere(step: Step, key: RestrictedKey, isSettled: boolean): Promise<void> {
  const kinds = isSettled ? ['video', 'image'] : [step.random.pick(['video', 'image'])];
  const createWith = async (address: string, kind: string) => {
    const request = newCreateRequest(step, undefined, 'REST', kind === 'video');
    const { observed } = request;
    observed.isForbidden = isSettled && isForbidden(key, request);
    const response = await sendCreate(step, request, address, key);
    // It may be carried out after the next change.
    if (response.isUnknown) observed.isForbidden = false;
    if (!observed.isForbidden || !isAdmitted(response)) return;
    const result = response.code ?? 'created';
    const detail = `${observed.model} at ${address} with the options ${describe(key)}: ${result}`;
    report(step, 'key-options-are-kept', key.uuid, detail);
  };
  await everywhere(step, (address) => Promise.all(kinds.map((kind) => createWith(address, kind))));
}

function isForbidden(
  { options: { scopes, allowed_models: models, allowed_ips: ips } }: RestrictedKey,
  { observed: { model } }: CreateRequest,
): boolean {
  return scopes?.includes('svc:write') === false || models?.includes(model) === false || !hasAddress(ips);
}

const hasAddress = (ips: readonly string[] | null): boolean =>
  ips === null || ips.some((range) => range.startsWith('127.'));

/** Reads with the key at all processes. */
async function readEverywhere(step: Step, key: RestrictedKey): Promise<void> {
  const { scopes, allowed_ips: ips } = key.options;
  const isAllowed = scopes?.includes('svc:read') !== false && hasAddress(ips);
  const expects = isAllowed ? [] : (['insufficient_scope'] as const);
  await everywhere(step, async (address) => {
    const options = { key, address, expects };
    const { isGood } = await call(step, 'usage with a restricted key', (api) => api.usage.summary(), options);
    if (isGood && !isAllowed)
      report(step, 'key-options-are-kept', key.uuid, `read at ${address} with the options ${describe(key)}`);
  });
}

/** Creates a key that expires soon, and uses it before and after its expiry. */
export async function useExpiringKey(step: Step): Promise<void> {
  const { state } = step;
  // Long enough for a slow machine to use it before, so that processes remember a key that was valid.
  const validMs = step.random.nextBetween(3_000, 6_000);
  const beganAt = performance.now();
  const expiresAt = new Date(state.now().getTime() + validMs).toISOString();
  const key = await createKey(step, call, { expires_at: expiresAt });
  if (key === undefined) return;
  await createAndReadEverywhere(step, key);
  await sleepUnlessStopped(state, Math.max(0, beganAt + validMs + EXPIRY_MARGIN_MS - performance.now()));
  const usedAt = performance.now();
  const used = await createAndReadEverywhere(step, key);
  const isAccepted = used.some(({ created, read }) => isAdmitted(created) || read.isGood);
  if (isAccepted && state.haveClocksAgreedSince(usedAt))
    report(step, 'expired-key-is-rejected', key.uuid, `it was accepted after its expiry at ${expiresAt}`);
}

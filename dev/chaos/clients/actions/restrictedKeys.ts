import { newStepId, reportViolation, sleepUnlessStopped, type Step } from '../clientState.ts';
import { type CreateRequest, newCreateRequest } from '../createRequests.ts';
import type { ObservedKey } from '../clientStore.ts';
import type { KeyOptions, RestrictedKey } from '../customers.ts';
import { type RestResponse, sendWithKey } from '../restRequests.ts';
import { retryUntilKnown } from '../retry.ts';
import { sendCreate } from './create.ts';
import { createKey } from './keys.ts';

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
 * Uses a key with options: a new one, or one whose options it changes several times meanwhile. Checks that what the options
 * forbid is rejected afterwards.
 */
export async function useRestrictedKey(step: Step): Promise<void> {
  const { customer, random } = step;
  const { restrictedKeys } = customer;
  const usable = restrictedKeys.filter((key) => !key.isChanging && canChange(step, key));
  if (restrictedKeys.length < MAX_RESTRICTED_KEYS && (usable.length === 0 || random.chance(0.2))) {
    await createRestrictedKey(step);
    return;
  }
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
  const created = await createKey(step, (request) => sendWithKey(step, request), restriction);
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
  const { random } = step;
  const isRestricted = RESTRICTIONS.some((some) => JSON.stringify({ ...UNRESTRICTED, ...some }) === describe(key));
  const options = { ...UNRESTRICTED, ...(isRestricted ? random.pick(PERMISSIONS) : nextRestriction(step)) };
  key.options = options;
  const response = await retryUntilKnown(step, async () => {
    const attempt = await sendWithKey(step, {
      kind: 'change key',
      method: 'PATCH',
      path: `/api/keys/${key.uuid}/`,
      body: options,
      // The key of the request may be revoked while it runs.
      expectedErrors: ['insufficient_scope'],
      status: 200,
      shape: 'apiKey',
    });
    // A later change would be undone by it.
    if (attempt.isUnknown) key.nextChangeAt = performance.now() + LATE_ATTEMPT_MS;
    return attempt;
  });
  return response.isGood;
}

const describe = ({ options }: RestrictedKey): string => JSON.stringify(options);

/**
 * Creates with the key at all processes: with every model if its options are known and do not change meanwhile, otherwise
 * with one.
 */
async function createEverywhere(step: Step, key: RestrictedKey, isSettled: boolean): Promise<void> {
  const kinds = isSettled ? ['video', 'image'] : [step.random.pick(['video', 'image'])];
  const sent = step.state.addresses.flatMap((address) =>
    kinds.map(async (kind) => {
      const request = newCreateRequest(step, newStepId(step), 'REST', kind === 'video');
      request.observed.isForbidden = isSettled && isForbidden(key, request);
      const response = await sendCreate(step, request, address, key);
      // It may be carried out after the next change.
      if (response.isUnknown) request.observed.isForbidden = false;
      if (!request.observed.isForbidden || !isAdmitted(response)) return;
      const result = response.code ?? 'created';
      const detail = `${request.observed.model} at ${address} with the options ${describe(key)}: ${result}`;
      reportViolation(step, 'key-options-are-kept', key.uuid, detail);
    }),
  );
  await Promise.all(sent);
}

/** Returns true if a create was accepted, or was rejected only because of what is checked after the key. */
function isAdmitted({ isGood, code }: RestResponse): boolean {
  return isGood || code === 'parallel_limit_reached' || code === 'insufficient_credits';
}

function isForbidden(
  { options: { scopes, allowed_models: models, allowed_ips: ips } }: RestrictedKey,
  request: CreateRequest,
) {
  const hasScope = scopes === null || scopes.includes('svc:write');
  const hasModel = models === null || models.includes(request.observed.model);
  return !hasScope || !hasModel || !hasAddress(ips);
}

const hasAddress = (ips: readonly string[] | null): boolean =>
  ips === null || ips.some((range) => range.startsWith('127.'));

/** Reads with the key at all processes. */
async function readEverywhere(step: Step, key: RestrictedKey): Promise<void> {
  const { scopes, allowed_ips: ips } = key.options;
  const isAllowed = (scopes === null || scopes.includes('svc:read')) && hasAddress(ips);
  const sent = step.state.addresses.map(async (address) => {
    const response = await sendWithKey(
      step,
      {
        kind: 'usage with a restricted key',
        method: 'GET',
        path: '/api/usage/summary/',
        address,
        expectedErrors: isAllowed ? [] : ['insufficient_scope'],
        status: 200,
        shape: 'usage',
      },
      key,
    );
    if (!response.isGood || isAllowed) return;
    reportViolation(step, 'key-options-are-kept', key.uuid, `read at ${address} with the options ${describe(key)}`);
  });
  await Promise.all(sent);
}

/** Creates a key that expires soon, and uses it before and after its expiry. */
export async function useExpiringKey(step: Step): Promise<void> {
  const { state } = step;
  // Long enough for a slow machine to use it before, so that processes remember a key that was valid.
  const validMs = step.random.nextBetween(3_000, 6_000);
  const beganAt = performance.now();
  const expiresAt = new Date(state.now().getTime() + validMs);
  const options = { expires_at: expiresAt.toISOString() };
  const key = await createKey(step, (request) => sendWithKey(step, request), options);
  if (key === undefined) return;
  await useEverywhere(step, key);
  await sleepUnlessStopped(state, Math.max(0, beganAt + validMs + EXPIRY_MARGIN_MS - performance.now()));
  const usedAt = performance.now();
  const isAccepted = await useEverywhere(step, key);
  if (!isAccepted || !state.haveClocksAgreedSince(usedAt)) return;
  reportViolation(
    step,
    'expired-key-is-rejected',
    key.uuid,
    `it was accepted after its expiry at ${options.expires_at}`,
  );
}

/** Uses a key at all processes. @returns true if a request was accepted. */
async function useEverywhere(step: Step, key: ObservedKey): Promise<boolean> {
  const accepted = await Promise.all(step.state.addresses.map((address) => useKey(step, key, address)));
  return accepted.includes(true);
}

/**
 * Creates and then reads with a key that may have expired: the rejection of a read would remove the key from the memory of the process.
 * @returns true if one of the requests was accepted.
 */
async function useKey(step: Step, key: ObservedKey, address: string): Promise<boolean> {
  const created = await sendCreate(step, newCreateRequest(step, newStepId(step)), address, key);
  const read = await sendWithKey(
    step,
    {
      kind: 'usage with an expiring key',
      method: 'GET',
      path: '/api/usage/summary/',
      address,
      status: 200,
      shape: 'usage',
    },
    key,
  );
  return isAdmitted(created) || read.isGood;
}

import type { CreateGeneration } from '../../../../packages/client/src/index.ts';
import { PNG } from '../../../../test/fakes/misbehave.ts';
import { IMAGE_PARAMETER } from '../../catalogs.ts';
import { DENIED_SUBJECT } from '../../moderation.ts';
import { type Api, call, type Called, callUntilKnown, pickKey } from '../api.ts';
import { everywhere, inParallel, newStepId, report, retryUntilKnown, type Step } from '../clientState.ts';
import {
  buildCreateBody,
  type CreateRequest,
  markIfStale,
  newCreateRequest,
  recordCreateResponse,
  recordSent,
} from '../createRequests.ts';
import { isLimited, isRestricted } from '../customers.ts';
import { parseJson, recordRequest, sendHttp } from '../httpClient.ts';
import { LIMITED_CREATE, type ObservedGeneration } from '../journal.ts';
import { recordShownGeneration } from '../observedGenerations.ts';

/** Number of simultaneous creates in a burst, of one create, and of cancellations of one generation. */
const BURST_SIZE = 10;
const PARALLEL_CREATES = 4;
const PARALLEL_CANCELLATIONS = 3;
/** Creates between two estimates, at one process. */
const ESTIMATED_CREATES = 4;

/** Errors of a create that its credential admits. */
export const CREATE_ERRORS = [
  'subscription_required',
  'insufficient_credits',
  'parallel_limit_reached',
  'model_unavailable',
] as const;

/**
 * Sends a create. One with an idempotency key is retried until its outcome is known, and now and then repeated
 * afterwards.
 */
export async function createGeneration(step: Step): Promise<void> {
  const { random } = step;
  const request = newCreateRequest(step, random.chance(0.6) ? newStepId(step) : null);
  if (request.observed.idempotencyKey === null) {
    await sendCreate(step, request);
    return;
  }
  const response = await retryUntilKnown(step, () => sendCreate(step, request));
  if (response.isGood && random.chance(0.15)) await sendCreate(step, request);
}

/** Sends many creates of one account at the same moment, over all addresses. */
export async function createMany(step: Step): Promise<void> {
  const requests = newCreateRequests(step, BURST_SIZE);
  await Promise.all(requests.map((request) => sendCreate(step, request)));
}

/** Builds creates, every other one of them with an idempotency key. */
export function newCreateRequests(step: Step, count: number): CreateRequest[] {
  return Array.from({ length: count }, (_, index) => newCreateRequest(step, index % 2 === 0 ? null : newStepId(step)));
}

/** Sends one create several times at the same moment with one idempotency key. */
export async function createOnceInParallel(step: Step): Promise<void> {
  const request = newCreateRequest(step);
  await inParallel(step, PARALLEL_CREATES, (address) => sendCreate(step, request, address));
}

/** Sends a create that the moderation service denies. The comparison with the database finds it if it is accepted. */
export async function createDeniedContent(step: Step): Promise<void> {
  const request = newCreateRequest(step, undefined, 'REST', undefined, DENIED_SUBJECT);
  await retryUntilKnown(step, () => sendCreate(step, request));
}

/** Sends another create with a used idempotency key, which must be rejected and have no effect. */
export async function createWithUsedKey(step: Step): Promise<void> {
  const request = newCreateRequest(step);
  const { observed } = request;
  const first = await retryUntilKnown(step, () => sendCreate(step, request));
  if (!first.isGood || observed.isStale) return;
  const response = await sendCreate(step, newCreateRequest(step, observed.idempotencyKey));
  // The clock may have been moved meanwhile.
  markIfStale(step.state, observed);
  if (!response.isGood || observed.isStale) return;
  report(
    step,
    'same-key-same-response',
    String(observed.idempotencyKey),
    'another create was accepted with the same key',
  );
}

/** Sends a create once, and records the outcome. */
export async function sendCreate(step: Step, request: CreateRequest, address?: string, key = pickKey(step)) {
  const { customer } = step;
  const { idempotencyKey, hasImage, prompt } = request.observed;
  const hasLimit = isLimited(customer, key);
  const body = buildCreateBody(step, request) as CreateGeneration;
  recordSent(step, request);
  const response = await call(step, hasLimit ? LIMITED_CREATE : 'create', (api) => create(api, body, idempotencyKey), {
    key,
    address,
    expects: [
      ...CREATE_ERRORS,
      ...(hasLimit ? (['spending_limit_reached'] as const) : []),
      ...(isRestricted(customer, key) ? (['insufficient_scope'] as const) : []),
      ...(prompt.startsWith(DENIED_SUBJECT) ? (['content_rejected'] as const) : []),
      // Another create with a used key, or an image that the catalog of the process does not take.
      ...(idempotencyKey === null && !hasImage ? [] : (['validation_error'] as const)),
      ...(hasImage ? (['rate_limited'] as const) : []),
    ],
  });
  recordCreateResponse(step, request, response, response.body, 'REST');
  return response;
}

/** The client library always sends an idempotency key. */
function create(api: Api, body: CreateGeneration, idempotencyKey: string | null) {
  return idempotencyKey === null
    ? api.send('POST /api/generations/create/', body)
    : api.generations.create(body, { idempotencyKey });
}

/** Cancels a known generation, whatever its state is. */
export async function cancelGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known !== undefined) await sendCancel(step, known);
}

/** Creates a generation and cancels it at once, several times at the same moment, over all addresses. */
export async function createAndCancel(step: Step): Promise<void> {
  const response = await sendCreate(step, newCreateRequest(step));
  const known = step.state.journal.generations.get(response.isGood ? response.body.uuid : '');
  if (known === undefined) return;
  await inParallel(step, PARALLEL_CANCELLATIONS, (address) => sendCancel(step, known, address));
}

/** Cancels a generation until the outcome of the request is known, and compares the response with its status. */
export async function sendCancel(step: Step, known: ObservedGeneration, address?: string): Promise<void> {
  known.cancelRequestedAt ??= performance.now();
  // Another client may delete it while the request is on its way: checked below.
  const options = { address, expects: ['not_found'] as const };
  const response = await callUntilKnown(step, 'cancel', (api) => api.generations.cancel(known.uuid), options);
  reportLost(step, known, response, 'a cancellation');
  if (!response.isGood) return;
  recordShownGeneration(step, response.body, response.beganAt);
  if ((response.body.status === 'queued') === (response.status === 202)) return;
  const detail = `the response to a cancellation has the status ${response.status} and is ${response.body.status}`;
  report(step, 'cancel-returns-the-outcome', known.uuid, detail);
}

/** Reports a generation that is not found although no client deleted it. */
export function reportLost(step: Step, known: ObservedGeneration, { code }: { code: string | null }, by: string): void {
  if (code === 'not_found' && known.deleteRequestedAt === null)
    report(step, 'created-exists', known.uuid, `is not found by ${by}, and no client deleted it`);
}

/** Deletes a generation, queued or not, and checks that it is gone. */
export async function deleteGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known === undefined || known.deleteRequestedAt !== null) return;
  known.deleteRequestedAt = performance.now();
  const response = await retryUntilKnown(step, (attempt) =>
    call(step, 'delete', (api) => api.generations.delete(known.uuid), {
      // An earlier attempt may have deleted it.
      expects: attempt === 0 ? [] : ['not_found'],
    }),
  );
  if (!response.isGood && response.status !== 404) return;
  known.deletedAt = performance.now();
  const after = await readGeneration(step, known);
  if (after.isGood)
    report(step, 'deleted-is-gone', known.uuid, 'is still readable after its deletion was acknowledged');
  // Some stay among the generations that are read now and then.
  const { generations } = step.customer;
  const index = generations.indexOf(known.uuid);
  if (index >= 0 && step.random.chance(0.7)) generations.splice(index, 1);
}

/** Reads a known generation, or waits a little for its end; downloads it now and then. */
export async function readKnownGeneration(step: Step): Promise<void> {
  const known = pickKnownGeneration(step);
  if (known === undefined) return;
  const wait = step.random.chance(0.1) ? step.random.nextBetween(1, 3) : 0;
  const response = await readGeneration(step, known, wait);
  if (response.isGood && response.body.status === 'succeeded' && step.random.chance(0.3))
    await downloadOutput(step, known);
}

/** Picks one of the latest generations of the account, which may be deleted. */
export function pickKnownGeneration({ state, customer, random }: Step): ObservedGeneration | undefined {
  const uuid = customer.generations.length === 0 ? undefined : random.pick(customer.generations);
  return state.journal.generations.get(uuid ?? '');
}

export async function readGeneration(step: Step, known: ObservedGeneration, waitSeconds = 0) {
  const { uuid } = known;
  const response = await call(
    step,
    waitSeconds === 0 ? 'read' : 'wait for the end',
    (api) =>
      waitSeconds === 0 ? api.generations.get(uuid) : api.send(`GET /api/generations/${uuid}/?wait=${waitSeconds}`),
    { expects: ['not_found'] },
  );
  if (response.isGood) recordShownGeneration(step, response.body, response.beganAt);
  reportLost(step, known, response, 'a read');
  return response;
}

/** Downloads the output once, through any address. */
export async function downloadOutput(step: Step, known: ObservedGeneration): Promise<void> {
  const path = known.final?.outputPath;
  if (path == null || known.isDownloaded) return;
  known.isDownloaded = true;
  const reply = await sendHttp(step, { method: 'GET', path, address: step.random.pick(step.state.addresses) });
  recordRequest(step, 'download', reply, null);
  const { status, headers, text } = reply;
  if (typeof status !== 'number' || status >= 500 || known.deleteRequestedAt !== null) {
    known.isDownloaded = false;
    return;
  }
  const type = String(headers['content-type']);
  if (status === 200 && /^(image|video)\//.test(type) && text !== '') return;
  report(step, 'output-can-be-fetched', known.uuid, `${path} returns ${status} ${type}`);
}

/** Estimates and creates several times at one process. */
export async function estimateAndCreate(step: Step): Promise<void> {
  const address = step.random.pick(step.state.addresses);
  for (let count = 0; count < ESTIMATED_CREATES && !step.state.isCalm; count += 1) await compareEstimate(step, address);
}

/**
 * Creates between two estimates at the same process. Each is a price of one of the catalogs. If both are equal, the
 * process had one catalog throughout, and the create must cost as much.
 */
async function compareEstimate(step: Step, address: string): Promise<void> {
  const request = newCreateRequest(step);
  const { prompt, model, prices } = request.observed;
  const body = { model, prompt, params: request.params } as CreateGeneration;
  const estimate = async () =>
    (await call(step, 'estimate', (api) => api.generations.estimate(body), { address })).body?.credits;
  const before = await estimate();
  if (before === undefined) return;
  const response = await sendCreate(step, request, address);
  const after = await estimate();
  for (const credits of [before, after]) {
    if (credits === undefined || prices.includes(credits)) continue;
    const detail = `the estimate was ${credits} credits instead of ${prices.join(' or ')}`;
    report(step, 'estimate-is-the-price', prompt, detail);
  }
  if (!response.isGood || before !== after || response.body.credits_charged === before) return;
  const detail = `${response.body.credits_charged} credits were charged, and the estimate was ${before}`;
  report(step, 'estimate-is-the-price', response.body.uuid, detail);
}

/**
 * Creates a video from an image: an upload, which is often used a second time, or a data URL, whose upload all creates
 * of the account share. Processes with the default catalog reject it.
 */
export async function createWithImage(step: Step): Promise<void> {
  const { customer, random } = step;
  if (customer.upload !== null && random.chance(0.3)) customer.upload = null;
  const isInline = random.chance(0.3);
  if (!isInline) customer.upload ??= await uploadImage(step);
  if (!isInline && customer.upload === null) return;
  const image = isInline ? `data:image/png;base64,${PNG.toString('base64')}` : `upload:${customer.upload}`;
  const request = newCreateRequest(step, undefined, 'REST', true);
  request.observed.hasImage = true;
  request.params = { ...request.params, [IMAGE_PARAMETER]: image };
  const response = await retryUntilKnown(step, () => sendCreate(step, request));
  // The upload has expired, or its file has not arrived.
  if (response.status === 400) customer.upload = null;
}

/** Creates an upload and sends its file. @returns its uuid; null if the response was lost or there was none. */
async function uploadImage(step: Step): Promise<string | null> {
  const image = { content_type: 'image/png', bytes: PNG.length } as const;
  const created = await call(step, 'create upload', (api) => api.uploads.create(image), {
    expects: ['not_found', 'subscription_required', 'rate_limited'],
  });
  if (!created.isGood) return null;
  const { uuid, upload_url: url, headers } = created.body;
  const { origin, pathname, search } = new URL(url);
  const reply = await sendHttp(step, { method: 'PUT', path: pathname + search, address: origin, headers, body: PNG });
  recordRequest(step, 'send upload', reply, parseJson(reply.text)?.error ?? null);
  return uuid;
}

/** Creates a generation with a test key of the customer, which must cost nothing. */
export async function useTestMode(step: Step): Promise<void> {
  const { customer } = step;
  if (customer.testKey === null) {
    const idempotencyKey = newStepId(step);
    const body = { name: `test key ${idempotencyKey}`, mode: 'test' } as const;
    const made = await callUntilKnown(step, 'make test key', (api) => api.keys.create(body, { idempotencyKey }), {
      expects: ['validation_error', 'insufficient_scope'],
    });
    if (!made.isGood) return;
    const { uuid, key } = made.body;
    // A client at the limit of keys may revoke it.
    customer.testKey = { uuid, key, accountUuid: '', revokeRequestedAt: performance.now(), revokedAt: null };
  }
  const body = { model: 'imgmodel-2', params: { resolution: '1K' }, prompt: `in test mode ${newStepId(step)}` };
  const response = await call(step, 'create in test mode', (api) => api.send('POST /api/generations/create/', body), {
    key: customer.testKey,
    expects: ['parallel_limit_reached', 'rate_limited', 'subscription_required'],
    isPublic: true,
  });
  if (response.status === 401) customer.testKey = null;
  if (!response.isGood || response.body.credits_charged === 0) return;
  const detail = `a test key was charged ${response.body.credits_charged} credits`;
  report(step, 'price-matches-the-catalog', response.body.uuid, detail);
}

/**
 * Uses a key at every address: creates, and then reads, whose rejection would remove the key from the memory of the
 * process.
 */
export function createAndReadEverywhere(step: Step, key: Parameters<typeof sendCreate>[3]) {
  return everywhere(step, async (address) => {
    const created = await sendCreate(step, newCreateRequest(step), address, key);
    const read = await call(step, 'usage with another key', (api) => api.usage.summary(), { key, address });
    return { created, read };
  });
}

/** Returns true if a create was accepted, or was rejected only because of what is checked after the credential. */
export function isAdmitted({ isGood, code }: Called<unknown>): boolean {
  return isGood || code === 'parallel_limit_reached' || code === 'insufficient_credits';
}

import { getModelBySlug } from '../../../shared/lib/catalog/catalog.ts';
import type { CatalogModel, GenerationParams, ParamValue } from '../../../shared/spec/catalog.ts';
import { listPricesByCatalog } from '../catalogs.ts';
import { newStepId, report, type ClientState, type Step } from './clientState.ts';
import type { HttpReply } from './httpClient.ts';
import type { ObservedCreate } from './journal.ts';

const MAX_RECENT_GENERATIONS = 40;
/** Share of creates with a `webhook_url`, of customers that use it. */
const WEBHOOK_URL_SHARE = 0.3;
/** An idempotency key is valid for a day. Repeating a request that is almost that old proves nothing. */
const KEY_VALID_MS = 20 * 3_600_000;

/** A create that a customer is going to send. */
export interface CreateRequest {
  observed: ObservedCreate;
  params: GenerationParams;
}

/**
 * Builds a create with a unique prompt, and records it.
 * @param surface tools have no `webhook_url`.
 * @param isVideo Customers that are to use up their credits create the most expensive output.
 * @param subject begins the prompt.
 */
export function newCreateRequest(
  step: Step,
  idempotencyKey: string | null = newStepId(step),
  surface: 'REST' | 'MCP' = 'REST',
  isVideo = step.random.chance(/^(creates|topups)$/.test(step.customer.role.only ?? '') ? 0.8 : 0.25),
  subject = 'A lighthouse',
): CreateRequest {
  const { state, customer } = step;
  const model = getModelBySlug(isVideo ? 'vidmodel-video' : 'imgmodel-2');
  const params = randomParams(step, model);
  const prompt = `${subject} of customer ${customer.index}, ${newStepId(step)}`;
  const pricesByCatalog = listPricesByCatalog(model.slug, params);
  const observed: ObservedCreate = {
    prompt,
    accountUuid: customer.uuid as string,
    model: model.slug,
    credits: model.price(params),
    prices: Object.values(pricesByCatalog),
    pricesByCatalog,
    idempotencyKey,
    firstSentAt: state.now(),
    sent: 0,
    rejected: 0,
    isStale: false,
    uuids: new Set(),
    webhookToken: surface === 'REST' ? registerWebhookUrl(step, prompt) : null,
    clientId: null,
    hasImage: false,
    isForbidden: false,
  };
  state.journal.createsByPrompt.set(prompt, observed);
  return { observed, params };
}

/** Registers an address for the end of a generation, for some creates of some customers. */
function registerWebhookUrl({ state, customer, random }: Step, prompt: string): string | null {
  if (!customer.role.usesWebhookUrl || !random.fork(prompt).chance(WEBHOOK_URL_SHARE)) return null;
  const token = encodeURIComponent(prompt.slice(prompt.lastIndexOf(' ') + 1));
  state.journal.webhooks.targets.set(token, { accountUuid: customer.uuid as string, endpoint: null, prompt });
  return token;
}

/** Chooses a value for each required parameter, and for half of the others. */
function randomParams({ random }: Step, { definition }: CatalogModel): GenerationParams {
  const chosen: [string, ParamValue][] = [];
  for (const [name, { enum: values, required }] of Object.entries(definition.params)) {
    if (required !== true && !random.chance(0.5)) continue;
    chosen.push([name, values === undefined ? random.chance(0.5) : random.pick(values)]);
  }
  return Object.fromEntries(chosen);
}

/** Returns the body of a create over REST. */
export function buildCreateBody({ state: { receiver } }: Step, { observed, params }: CreateRequest) {
  const { model, prompt, webhookToken } = observed;
  return { model, prompt, params, ...(webhookToken === null ? {} : { webhook_url: receiver.buildUrl(webhookToken) }) };
}

/** Records that a create is about to be sent. */
export function recordSent({ state }: Step, { observed }: CreateRequest): void {
  observed.sent += 1;
  state.journal.sentCreates.push({ accountUuid: observed.accountUuid, at: Date.now() });
  markIfStale(state, observed);
}

/** Marks a create whose idempotency key may have expired. */
export function markIfStale(state: ClientState, observed: ObservedCreate): void {
  if (Math.abs(state.now().getTime() - observed.firstSentAt.getTime()) > KEY_VALID_MS) observed.isStale = true;
}

type CreateOutcome = { isGood: boolean; isUnknown: boolean; code?: string | null } & Partial<HttpReply>;

/** Records the response to a create. @param shown the generation, if it was accepted. */
export function recordCreateResponse(
  step: Step,
  { observed }: CreateRequest,
  response: CreateOutcome,
  shown: { uuid: string; status: string; prompt: string; credits_charged: number } | undefined,
  surface: 'REST' | 'MCP',
): void {
  // The clock may have been moved during the request.
  if (observed.sent > 1) markIfStale(step.state, observed);
  if (!response.isGood || shown === undefined) return recordRejection(step.state, observed, response);
  const { uuid, credits_charged: credits, status, prompt } = shown;
  // After the key has expired, a repetition may create another generation, at a process with the other catalog.
  const isAnother = observed.isStale && observed.uuids.size > 0 && !observed.uuids.has(uuid);
  if (isAnother) observed.prices = Object.values(observed.pricesByCatalog);
  if (!observed.prices.includes(credits)) {
    const detail = `${credits} credits were charged instead of ${observed.prices.join(' or ')}`;
    report(step, 'price-matches-the-catalog', uuid, detail);
  }
  observed.prices = [credits];
  observed.credits = credits;
  if (status !== 'queued' || prompt !== observed.prompt)
    report(step, 'created-exists', uuid, `has status ${status} and the prompt "${prompt}"`);
  observed.uuids.add(uuid);
  if (observed.uuids.size > 1 && !observed.isStale) {
    const rule = observed.idempotencyKey === null ? 'one-generation-per-create' : 'same-key-same-response';
    report(step, rule, observed.idempotencyKey ?? observed.prompt, [...observed.uuids].join(' and '));
  }
  rememberGeneration(step, observed, uuid, surface);
}

/** Responses that rule out a generation, whatever their status. */
const NOT_CREATED = /no generation was created|(nothing was|no credits were) charged/i;

/** Records a rejection. Some 503 responses are definite too, and say so. */
function recordRejection(
  state: ClientState,
  observed: ObservedCreate,
  { isUnknown, code, text = '', beganAt = 0, endedAt = 0 }: CreateOutcome,
): void {
  if (!isUnknown || NOT_CREATED.test(text)) observed.rejected += 1;
  // One process may have decided by its old clock, before an hour had passed since the last top-up.
  if (code !== 'insufficient_credits' || !state.haveClocksAgreedSince(beganAt)) return;
  const respondedAt = Date.now() - (performance.now() - endedAt);
  const { accountUuid, prompt } = observed;
  state.journal.rejectedCreates.push({ accountUuid, prompt, respondedAt, response: `${code}: ${text.slice(0, 200)}` });
}

const NEVER_CHANGED = {
  final: null,
  isDownloaded: false,
  deleteRequestedAt: null,
  cancelRequestedAt: null,
  deletedAt: null,
};

function rememberGeneration(
  { state, customer }: Step,
  { accountUuid, prompt, model, credits }: ObservedCreate,
  uuid: string,
  surface: 'REST' | 'MCP',
): void {
  const { generations } = state.journal;
  if (generations.has(uuid)) return;
  generations.set(uuid, {
    uuid,
    accountUuid,
    surface,
    prompt,
    model,
    credits,
    ...NEVER_CHANGED,
  });
  customer.generations.push(uuid);
  if (customer.generations.length > MAX_RECENT_GENERATIONS) customer.generations.shift();
}

import {
  type GenerationParams,
  IMAGE_ASPECT_RATIOS,
  IMAGE_RESOLUTIONS,
  type ModelSlug,
  priceInCredits,
} from '../../../shared/spec/catalog.ts';
import { VIDEO_ASPECT_RATIOS, VIDEO_DURATIONS_SECONDS, VIDEO_RESOLUTIONS } from '../../../shared/spec/catalog.ts';
import type { OrderTold } from './books.ts';
import type { Answer } from './ask.ts';
import type { Json } from './send.ts';
import { accuseOf, newId, type Turn, type World } from './world.ts';

const LATEST = 40;
/** A key holds for a day: one that is used again almost that late proves nothing. */
const KEY_HOLDS_MS = 20 * 3_600_000;

/** Something that a customer wants to have made. */
export interface Order {
  told: OrderTold;
  params: GenerationParams;
}

/** Thinks of an order, with a prompt that no other has, and enters it into the books. */
export function newOrder(turn: Turn, idempotencyKey: string | null): Order {
  const { world, customer, random } = turn;
  // Those that are to use up their credits order what costs most.
  const isVideo = random.chance(customer.role.only === 'orders' ? 0.8 : 0.25);
  const model: ModelSlug = isVideo ? 'vidmodel-video' : 'imgmodel-2';
  const params = (isVideo ? videoParams(turn) : imageParams(turn)) as GenerationParams;
  const prompt = `A lighthouse of customer ${customer.index}, ${newId(turn)}`;
  const told: OrderTold = {
    prompt,
    accountUuid: customer.uuid as string,
    model,
    credits: priceInCredits(params),
    idempotencyKey,
    firstSentAt: world.now(),
    sent: 0,
    refused: 0,
    isStale: false,
    uuids: new Set(),
  };
  world.books.orders.set(prompt, told);
  return { told, params };
}

function videoParams({ random }: Turn) {
  return {
    duration: random.pick(VIDEO_DURATIONS_SECONDS),
    resolution: random.pick(VIDEO_RESOLUTIONS),
    ...(random.chance(0.5) ? { audio: random.chance(0.5) } : {}),
    ...(random.chance(0.5) ? { aspect_ratio: random.pick(VIDEO_ASPECT_RATIOS) } : {}),
  };
}

function imageParams({ random }: Turn) {
  return {
    resolution: random.pick(IMAGE_RESOLUTIONS),
    ...(random.chance(0.5) ? { aspect_ratio: random.pick(IMAGE_ASPECT_RATIOS) } : {}),
  };
}

/** Enters that an order is about to be sent. */
export function noteSent({ world }: Turn, { told }: Order): void {
  told.sent += 1;
  world.books.creates.push({ accountUuid: told.accountUuid, at: Date.now() });
  noteAge(world, told);
}

function noteAge(world: World, told: OrderTold): void {
  if (Math.abs(world.now().getTime() - told.firstSentAt.getTime()) > KEY_HOLDS_MS) told.isStale = true;
}

/** Enters what an order was answered with. @param shown the generation, where it was accepted. */
export function noteOrdered(
  turn: Turn,
  { told }: Order,
  answer: Pick<Answer, 'isGood' | 'isUnknown'> & Partial<Refusal>,
  shown: Json,
  surface: 'REST' | 'MCP',
): void {
  // Time may have been moved while it was under way.
  if (told.sent > 1) noteAge(turn.world, told);
  if (!answer.isGood) {
    noteRefused(turn.world, told, answer);
    return;
  }
  const { uuid, credits_charged: credits, status } = shown as { uuid: string; credits_charged: number; status: string };
  if (credits !== told.credits) {
    accuseOf(turn, 'price-is-the-catalogs', uuid, `${credits} credits were charged instead of ${told.credits}`);
  }
  if (status !== 'queued' || shown.prompt !== told.prompt) {
    accuseOf(turn, 'created-is-there', uuid, `was answered as ${status}, with the prompt "${shown.prompt}"`);
  }
  told.uuids.add(uuid);
  if (told.uuids.size > 1 && !told.isStale) {
    const rule = told.idempotencyKey === null ? 'one-order-one-generation' : 'same-key-same-answer';
    accuseOf(turn, rule, told.idempotencyKey ?? told.prompt, [...told.uuids].join(' and '));
  }
  remember(turn, told, uuid, surface);
}

/** The fields of an answer that say what a refusal promises. */
interface Refusal {
  code: string | null;
  text: string;
  beganAt: number;
  endedAt: number;
}

/** Answers after which there is no generation, whatever their status. */
const NOT_CREATED = /no generation was created|(nothing was|no credits were) charged/i;

/** Enters a refusal. Some answers with 503 are certain, too, and say so. */
function noteRefused(
  { books }: World,
  told: OrderTold,
  { isUnknown, code = null, text = '', beganAt = 0, endedAt = 0 }: Pick<Answer, 'isUnknown'> & Partial<Refusal>,
): void {
  if (!isUnknown || NOT_CREATED.test(text)) told.refused += 1;
  if (code !== 'insufficient_credits') return;
  const answeredAt = Date.now() - (performance.now() - endedAt);
  const at = answeredAt - (endedAt - beganAt);
  const { accountUuid, prompt } = told;
  books.refusals.push({ accountUuid, prompt, at, answeredAt, answer: `${code}: ${text.slice(0, 200)}` });
}

function remember({ world, customer }: Turn, told: OrderTold, uuid: string, surface: 'REST' | 'MCP'): void {
  const { generations } = world.books;
  if (generations.has(uuid)) return;
  generations.set(uuid, {
    uuid,
    accountUuid: told.accountUuid,
    surface,
    prompt: told.prompt,
    model: told.model,
    credits: told.credits,
    idempotencyKey: told.idempotencyKey,
    seen: {},
    final: null,
    isFetched: false,
    deleteAskedAt: null,
    deletedAt: null,
  });
  customer.generations.push(uuid);
  if (customer.generations.length > LATEST) customer.generations.shift();
}

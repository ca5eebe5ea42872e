import { requireUploadPlan } from '../../shared/domain/uploads/createUpload.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import {
  ARRIVING_BODIES_MAX,
  ARRIVING_BODIES_MAX_BYTES,
  IMAGE_BODY_LIMIT_BYTES,
  LARGE_BODIES_MAX,
  LARGE_BODIES_MAX_BYTES,
  LARGE_BODIES_OF_ACCOUNT_MAX,
} from '../../shared/spec/limits.ts';
import { type Context, requireCaller } from '../context.ts';
import { readRawBody } from './body.ts';
import { parseJson } from './parseJson.ts';

/** A request with a large body, of an account. */
interface LargeBody {
  accountId: number;
  isTest: boolean;
  /** As announced. */
  bytes: number;
  isComplete: boolean;
}

/** Requests with large bodies, in the order of their arrival. */
const largeBodies = perService(() => new Map<Context, LargeBody>());

/**
 * Reads and parses a JSON body that may contain images, for an account with a plan. Its memory is bounded until
 * {@link releaseLargeBody}: complete bodies have a maximum number and size, with room for other accounts, and of too
 * many that arrive the oldest of the account with the most is rejected, so that slow ones do not keep others out.
 * @throws ServiceError subscription_required; rate_limited; validation_error; HttpError 413 if the body is too large.
 */
export async function readLargeJsonBody(ctx: Context): Promise<void> {
  const { accountId, isTest = false } = requireCaller(ctx);
  await requireUploadPlan(accountId);
  const held = largeBodies();
  const ofAccount = [...held.values()].filter((body) => body.accountId === accountId).length;
  if (ofAccount >= LARGE_BODIES_OF_ACCOUNT_MAX) throw tooManyBodiesError();
  const body: LargeBody = { accountId, isTest, bytes: ctx.request.length ?? 0, isComplete: false };
  held.set(ctx, body);
  const arrival = readRawBody(ctx, IMAGE_BODY_LIMIT_BYTES);
  rejectSurplusArriving();
  const bytes = await arrival;
  body.isComplete = true;
  if (!hasRoom(body)) throw tooManyBodiesError();
  ctx.request.body = parseJson(bytes.toString());
}

/** Ends the count of a request. */
export function releaseLargeBody(ctx: Context): void {
  largeBodies().delete(ctx);
}

/**
 * Returns whether a complete body may be held. An account that holds others must leave as much free as it holds, since
 * a request may wait long for an image at an address. Test accounts, which are free, count as one.
 */
function hasRoom(body: LargeBody): boolean {
  const complete = [...largeBodies().values()].filter(({ isComplete }) => isComplete);
  const own = complete.filter(({ accountId, isTest }) => (body.isTest ? isTest : accountId === body.accountId));
  const free = LARGE_BODIES_MAX - complete.length;
  const freeBytes = LARGE_BODIES_MAX_BYTES - sumBytes(complete);
  return free >= 0 && freeBytes >= 0 && (own.length === 1 || (own.length <= free && sumBytes(own) <= freeBytes));
}

function rejectSurplusArriving(): void {
  const arriving = [...largeBodies()].filter(([, { isComplete }]) => !isComplete);
  const bodies = arriving.map(([, body]) => body);
  if (bodies.length <= ARRIVING_BODIES_MAX && sumBytes(bodies) <= ARRIVING_BODIES_MAX_BYTES) return;
  const shares = bodies.map((body) => sumBytes(bodies.filter(({ accountId }) => accountId === body.accountId)));
  const [ctx] = arriving[shares.indexOf(Math.max(...shares))] as [Context, LargeBody];
  releaseLargeBody(ctx);
  // Ends the reader, which frees what has arrived. The connection stays open for the response.
  if (ctx.req.listenerCount('error') > 0) ctx.req.emit('error', tooManyBodiesError());
  rejectSurplusArriving();
}

function sumBytes(bodies: LargeBody[]): number {
  return bodies.reduce((sum, { bytes }) => sum + bytes, 0);
}

function tooManyBodiesError(): ServiceError {
  const detail = `Too many requests with images in their body at a time: at most ${LARGE_BODIES_OF_ACCOUNT_MAX} of an account, and fewer while others send many. Send it again, or upload the images instead.`;
  return new ServiceError('rate_limited', detail, { retryAfterSeconds: 2 });
}

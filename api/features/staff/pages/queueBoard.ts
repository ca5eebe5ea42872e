import type Koa from 'koa';
import { config } from '../../../../shared/lib/config.ts';
import { type QueueChange, recordQueueChange } from '../../../../shared/domain/staff/queueChanges.ts';
import { perService } from '../../../../shared/lib/serviceScope.ts';
import { QUEUES } from '../../../../shared/queues/catalog.ts';
import { getQueue } from '../../../../shared/queues/enqueue.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { getRequestLogger, requireActor, requireCaller, type Context, type State } from '../../../context.ts';
import { describeNotFound } from '../../../pipeline/errors.ts';
import { isSafeMethod } from '../../../pipeline/csrf.ts';

export const QUEUE_BOARD_PATH = '/admin/queues';

/**
 * The board sets inline styles. Everything else that it does not need is forbidden, and so are requests to other hosts.
 */
const QUEUE_BOARD_CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
].join('; ');

/** Link to a stylesheet of another host, which the policy would block. */
const EXTERNAL_STYLESHEET = /<link href="https:[^>]*>/g;

/** Visible link back to the dashboard: the board hides its own links behind an icon. */
const BACK_LINK =
  '<a href="/admin/" style="position:fixed;right:1rem;bottom:1rem;z-index:9;padding:.5rem .9rem;border-radius:.55rem;background:#2f5bea;color:#fff;font:550 .9rem system-ui,sans-serif;text-decoration:none">Back to the admin dashboard</a>';

/**
 * Serves the queue dashboard to staff. It is a third-party application with its own pages, files and API below its
 * path. Changes exist below `api` only, where a session requires the origin of the service.
 */
export async function queueBoard(ctx: Context): Promise<void> {
  ctx.set('content-security-policy', QUEUE_BOARD_CONTENT_SECURITY_POLICY);
  ctx.set('x-frame-options', 'DENY');
  ctx.set('referrer-policy', 'same-origin');
  // Jobs are in Redis, which no transaction covers: a change that is not recorded is not made.
  let change: QueueChange | undefined;
  if (!isSafeMethod(ctx.method)) {
    // The board would parse other types after the change is recorded.
    ctx.request.body ??= {};
    change = parseQueueChange(ctx);
    await recordQueueChange(requireActor(ctx, ''), change);
  }
  await (await board())(ctx, async () => {});
  if (ctx.status === 404 && ctx.body === undefined) throw new ServiceError('not_found', describeNotFound(ctx));
  if (change !== undefined) logQueueChange(ctx, change);
  if (ctx.type === 'text/html' && typeof ctx.body === 'string') {
    ctx.set('cache-control', 'no-store');
    ctx.body = ctx.body.replaceAll(EXTERNAL_STYLESHEET, '').replace('<div id="root">', `${BACK_LINK}$&`);
  }
}

/**
 * Changes that the pages of the board make. Excludes those that take any job name or data. The board ignores the case
 * of paths, so a list of exceptions would have to list their spellings.
 */
const OFFERED_CHANGES = [
  /^PUT (pause|resume)$/,
  /^PUT [^/]+\/(pause|resume|promote|empty|obliterate|concurrency|rate-limit|rate-limit\/release)$/,
  /^PUT [^/]+\/(retry|clean)\/[a-z-]+$/,
  /^PUT [^/]+\/[^/]+\/(retry|clean|promote|remove-unprocessed-children)$/,
  /^PATCH [^/]+\/[^/]+\/(delay|priority)$/,
  /^PUT [^/]+\/job-schedulers\/[^/]+\/(remove|run)$/,
  /^PATCH [^/]+\/job-schedulers\/[^/]+$/,
];

const CHANGES_PATH = `${QUEUE_BOARD_PATH}/api/queues/`;

/**
 * Parses a change from its path and its body, as `<queue>/pause`, `<queue>/<job>/retry`, `pause` for all queues. The
 * parts of the path are decoded as the board decodes them, so that the queue is the one that it changes.
 * @throws ServiceError not_found for a change that is not offered.
 */
function parseQueueChange(ctx: Context): QueueChange {
  const path = ctx.path.startsWith(CHANGES_PATH) ? ctx.path.slice(CHANGES_PATH.length) : '';
  const steps = path.split('/').map((step) => decodeStep(step));
  const queue = steps.length === 1 ? 'all' : QUEUES.find((name) => name === steps[0]);
  const isOffered = OFFERED_CHANGES.some((pattern) => pattern.test(`${ctx.method} ${path}`));
  if (!isOffered || queue === undefined || steps.includes(undefined))
    throw new ServiceError('not_found', describeNotFound(ctx));
  return {
    queue,
    change: (queue === 'all' ? steps : steps.slice(1)).join('/'),
    body: JSON.stringify(ctx.request.body ?? {}),
  };
}

/** Decodes a part of a path. Undefined if it is not encoded correctly, or cannot be stored. */
function decodeStep(step: string): string | undefined {
  try {
    const decoded = decodeURIComponent(step);
    return decoded.includes('\u0000') ? undefined : decoded;
  } catch {
    return undefined;
  }
}

/** Logs a change with its author. */
function logQueueChange(ctx: Context, { queue, change: action }: QueueChange): void {
  getRequestLogger(ctx.state).info(
    { queue, action, account: requireCaller(ctx).accountId, status: ctx.status },
    'queue board change',
  );
}

/** Loads the board at the first visit, so that other processes do not spend memory on it. */
const board = perService(createQueueBoard);

async function createQueueBoard(): Promise<Koa.Middleware<State>> {
  const [{ createBullBoard }, { BullMQAdapter }, { KoaAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/koa'),
  ]);
  const adapter = new KoaAdapter();
  adapter.setBasePath(QUEUE_BOARD_PATH);
  createBullBoard({
    queues: QUEUES.map((name) => new BullMQAdapter(getQueue(name))),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: config.BRAND_NAME, miscLinks: [{ text: 'Admin dashboard', url: '/admin/' }] } },
  });
  return adapter.registerPlugin();
}

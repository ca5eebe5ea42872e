import type Koa from 'koa';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { QUEUES } from '../../../shared/queues/catalog.ts';
import { getQueue } from '../../../shared/queues/enqueue.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { requireCaller, type Context, type State } from '../../context.ts';
import { describeNotFound } from '../../pipeline/errors.ts';
import { HttpError } from '../../pipeline/httpError.ts';
import { serviceOrigin } from '../../pipeline/serviceOrigin.ts';

export const QUEUE_BOARD_PATH = '/admin/queues';

/** Policy of the dashboard. It sets inline styles, and loads and calls nothing from other origins. */
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

const SAFE_METHODS = new Set(['GET', 'HEAD']);

/** Link to a stylesheet of another host, which the policy would block. */
const EXTERNAL_STYLESHEET = /<link href="https:[^>]*>/g;

/** Link back to the service. The dashboard's own list of links is hidden behind an icon. */
const BACK_LINK =
  '<a href="/admin/" style="position:fixed;right:1rem;bottom:1rem;z-index:9;padding:.5rem .9rem;border-radius:.55rem;background:#1f5f8b;color:#fff;font:550 .9rem system-ui,sans-serif;text-decoration:none">Back to the service</a>';

/**
 * Serves the dashboard of the queues. It is a separate application with its own pages, files and calls below its path,
 * and reads request bodies by itself.
 */
export async function queueBoard(ctx: Context): Promise<void> {
  requireSameOriginChange(ctx);
  ctx.set('content-security-policy', QUEUE_BOARD_CONTENT_SECURITY_POLICY);
  ctx.set('x-frame-options', 'DENY');
  ctx.set('referrer-policy', 'same-origin');
  await (await board())(ctx, async () => {});
  if (ctx.status === 404 && ctx.body === undefined) throw new ServiceError('not_found', describeNotFound(ctx));
  if (!SAFE_METHODS.has(ctx.method)) logQueueChange(ctx);
  if (ctx.type === 'text/html' && typeof ctx.body === 'string') {
    ctx.set('cache-control', 'no-store');
    ctx.body = ctx.body.replaceAll(EXTERNAL_STYLESHEET, '').replace('<div id="root">', `${BACK_LINK}$&`);
  }
}

/** Requires the service's own origin for changes, because browsers may send the cookie with requests of other sites. */
function requireSameOriginChange(ctx: Koa.ParameterizedContext<State>): void {
  if (SAFE_METHODS.has(ctx.method) || ctx.get('origin') === serviceOrigin()) return;
  throw new HttpError('validation_error', `Changes must come with "Origin: ${serviceOrigin()}".`, { status: 403 });
}

/** Logs a change by the path of the call: `<queue>/pause`, `<queue>/<job>/retry`, or `pause` for all queues. */
function logQueueChange(ctx: Koa.ParameterizedContext<State>): void {
  const steps = ctx.path.slice(`${QUEUE_BOARD_PATH}/api/queues/`.length).split('/');
  const queue = QUEUES.find((name) => name === steps[0]) ?? 'all';
  const action = (queue === 'all' ? steps : steps.slice(1)).join('/').slice(0, 200);
  ctx.state.log.info(
    { queue, action, account: requireCaller(ctx).accountId, status: ctx.status },
    'queue board change',
  );
}

/** Loads the dashboard on first use, so that processes that do not serve it save the memory. */
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
    options: { uiConfig: { boardTitle: 'genmeter', miscLinks: [{ text: 'The service', url: '/admin/' }] } },
  });
  return adapter.registerPlugin();
}

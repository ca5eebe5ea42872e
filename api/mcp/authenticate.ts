import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import type { Context } from '../context.ts';
import { HttpError } from '../pipeline/httpError.ts';
import { serviceOrigin } from '../pipeline/serviceOrigin.ts';
import { authenticateBearer } from '../pipeline/authenticateBearer.ts';
import { isBrowserRequest } from './infoPage.tsx';

const allowedOrigins = perService(
  () => new Set([serviceOrigin(), ...config.MCP_ALLOWED_ORIGINS.split(',').map((origin) => origin.trim())]),
);

/**
 * Finds out who speaks to /mcp, before anything of the message is read. Nobody needs to be anybody for the page that a
 * browser gets.
 * @throws ServiceError 403 for a page of another origin; invalid_api_key.
 */
export async function authenticateMcp(ctx: Context): Promise<Caller | undefined> {
  if (isBrowserRequest(ctx)) return undefined;
  requireAllowedOrigin(ctx);
  return authenticateBearer(ctx);
}

/** Only a browser sends an Origin, and only known pages may speak to us from one (MCP: Streamable HTTP, Security). */
function requireAllowedOrigin(ctx: Context): void {
  const { origin } = ctx.headers;
  if (origin === undefined || allowedOrigins().has(origin) || allowedOrigins().has('*')) return;
  const detail = 'Origin: pages from there may not speak to /mcp. Have it added to MCP_ALLOWED_ORIGINS.';
  throw new HttpError('validation_error', detail, { status: 403 });
}

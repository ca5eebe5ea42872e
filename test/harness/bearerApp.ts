import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { State } from '../../api/context.ts';
import { handleErrors } from '../../api/pipeline/errors.ts';
import { requestLog } from '../../api/pipeline/requestLog.ts';
import { getScopes } from '../../shared/domain/accounts/caller.ts';
import { authenticateBearer } from '../../api/pipeline/authenticateBearer.ts';
import { requireScope } from '../../api/pipeline/scopes.ts';

/**
 * Serves the identity behind a request, on the open service of this process: GET accepts any credential, POST one with
 * write access.
 * @returns the server and its address.
 */
export async function startBearerApp(): Promise<{ server: Server; url: string }> {
  const app = new Koa<State>();
  app.use(requestLog);
  app.use(handleErrors);
  app.use(async (ctx) => {
    const caller = await authenticateBearer(ctx);
    if (ctx.method === 'POST') requireScope(caller, 'svc:write');
    const { accountId, credential } = caller;
    const scopes = getScopes(caller);
    ctx.body = { accountId, credential: credential.kind, scopes: [...scopes] };
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

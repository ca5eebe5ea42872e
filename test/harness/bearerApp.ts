import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { errors } from '../../api/middleware/errors.ts';
import { requestLog } from '../../api/middleware/requestLog.ts';
import { identifyAssistant, requireScope } from '../../api/oauth/bearer.ts';
import type { State } from '../../api/context.ts';

/** A process that tells who asks: GET takes any credential, POST one that may write. */
const app = new Koa<State>();
app.use(requestLog);
app.use(errors);
app.use(async (ctx) => {
  const assistant = await identifyAssistant(ctx);
  if (ctx.method === 'POST') requireScope(assistant, 'svc:write');
  const { accountId, credential, scopes } = assistant;
  ctx.body = { accountId, credential, scopes: [...scopes] };
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`bearer app listening on ${(server.address() as AddressInfo).port};`);

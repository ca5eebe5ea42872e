import { createApiKey, listActiveApiKeys, revokeApiKey } from '../../../shared/domain/accounts/apiKeys.ts';
import { executeIdempotent, type SaveResponse } from '../../../shared/domain/platform/idempotentRequests.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../context.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { evictKey } from '../../pipeline/authenticate.ts';
import { getForm } from '../../pipeline/body.ts';
import { readFormIdempotencyKey } from '../../pipeline/idempotency.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../pipeline/requestParameters.ts';
import { CreateApiKeyRequest } from '../../rest/apiKeys/schemas.ts';
import { sendConfirmationPage } from '../components/confirmationPage.tsx';
import { formatRelativeTime } from '../components/formatTime.ts';
import { showErrorsOn } from '../components/showErrorsOn.ts';
import { KEYS_PATH, renderKeysPage } from './view.tsx';

const parseKeyForm = createBodyParser(CreateApiKeyRequest);
const withKeyErrors = showErrorsOn(renderKeysPage);

export async function showKeysPage(ctx: Context): Promise<void> {
  await renderKeysPage(ctx);
}

export const createKey = withKeyErrors(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  const form = getForm(ctx);
  const mode = form.get('mode');
  const request = parseKeyForm({ name: form.get('name') ?? undefined, ...(mode === null ? {} : { mode }) });
  const idempotentRequest = { accountId, scope: 'account.key', key: readFormIdempotencyKey(ctx), request };
  // The response to the form contains the key. A redirect to a page with the key could be opened again.
  const { response } = await executeIdempotent(
    idempotentRequest,
    async (_id, saveResponse: SaveResponse<{ name: string; key: string }>) => {
      const created = await createApiKey(accountId, request, {
        origin: getRequestOrigin(ctx),
        onCreated: (transaction, { key, row }) => saveResponse(transaction, { name: row.name, key }),
      });
      await audit(ctx, 'key_created', accountId, { key: created.row.uuid });
      return { name: created.row.name, key: created.key };
    },
  );
  await renderKeysPage(ctx, { newKey: response });
});

/** Asks for confirmation before an API key is revoked. */
export const confirmRevokeKey = withKeyErrors(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const key = (await listActiveApiKeys(requireCaller(ctx).accountId)).find((active) => active.uuid === uuid);
  if (key === undefined)
    throw new ServiceError('not_found', 'This API key does not exist or has already been revoked.');
  const { name, prefix, last_used_at: usedAt } = key;
  const children = (
    <>
      <p>
        <code>{prefix}…</code>, {usedAt === null ? 'never used' : `last used ${formatRelativeTime(usedAt)}`}
      </p>
      <p>Programs that use this key stop working immediately. This cannot be undone.</p>
    </>
  );
  sendConfirmationPage(ctx, {
    question: `Revoke API key “${name}”?`,
    children,
    button: 'Revoke',
    action: `${KEYS_PATH}${uuid}/revoke/`,
    cancelPath: KEYS_PATH,
  });
});

export const revokeKey = withKeyErrors(async (ctx) => {
  const { accountId } = requireCaller(ctx);
  evictKey(await revokeApiKey(accountId, parseUuidParam(ctx), { origin: getRequestOrigin(ctx) }));
  await audit(ctx, 'key_revoked', accountId, { key: parseUuidParam(ctx) });
  seeOther(ctx, `${KEYS_PATH}?done=revoked`);
});

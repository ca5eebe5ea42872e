import { createApiKey, revokeApiKey, updateApiKey } from '../../../../shared/domain/accounts/apiKeys.ts';
import { createBodyParser } from '../../../../shared/lib/validation/bodyParser.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { executeFormOnce } from '../../../pipeline/idempotency.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../pipeline/requestOrigin.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { CreateApiKeyRequest, UpdateApiKeyRequest } from '../schemas.ts';
import { defineAccountAction } from '../../../web/components/accountAction.tsx';
import { readFormerState } from '../../../web/components/editForm.tsx';
import { describeLastUse } from '../../../web/components/formatTime.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { KEY_OPTIONS, keyForm } from './keyForm.tsx';
import { findActiveKey, renderKeyPage } from './keyPage.tsx';
import { t } from './texts.ts';
import { KEYS_PATH, type NewKey, renderKeysPage } from './view.tsx';

const parseKeyForm = createBodyParser(CreateApiKeyRequest);
const parseKeyChange = createBodyParser(UpdateApiKeyRequest);
const withListErrors = showErrorsOn(renderKeysPage);
const withKeyErrors = showErrorsOn(renderKeyPage, withListErrors);

/**
 * Returns whether the form creates a live key. Options do not exempt it: a limit may be as high as a billion credits.
 */
export function createsLiveKey(ctx: Context): boolean {
  return getForm(ctx).get('mode') !== 'test';
}

export const createKey = withListErrors(async (ctx) => {
  const caller = requireCaller(ctx);
  const request = parseKeyForm(keyForm.read(getForm(ctx)));
  // The response to the form contains the key. A redirect to a page with the key could be opened again.
  const newKey = await executeFormOnce<NewKey>(ctx, 'account.key', request, async (_id, saveResponse) => {
    const { key, row } = await createApiKey(caller, request, {
      origin: getRequestOrigin(ctx),
      onCreated: (transaction, created) => saveResponse(transaction, { name: created.row.name, key: created.key }),
    });
    return { name: row.name, key };
  });
  await renderKeysPage(ctx, {
    newKey: { ...newKey, isTest: request.mode === 'test' },
    mayCreate: (request.scopes ?? request.allowed_models ?? null) === null,
  });
});

/** Shows the form for the name and options of a key. */
export const showKeyPage = withListErrors(renderKeyPage);

export const saveKey = withKeyErrors(async (ctx) => {
  const caller = requireCaller(ctx);
  const form = getForm(ctx);
  const request = parseKeyChange(keyForm.read(form, ['name', ...KEY_OPTIONS]));
  const key = await updateApiKey(caller, parseUuidParam(ctx), request, {
    origin: getRequestOrigin(ctx),
    expectedVersion: readFormerState(form),
  });
  seeOther(ctx, `${KEYS_PATH}${key.uuid}/?done=saved`);
});

export const revokeKey = defineAccountAction({
  withErrors: withListErrors,
  describe: async (ctx) => {
    const { name, prefix, last_used_at: usedAt } = await findActiveKey(ctx);
    const consequences = (
      <>
        <p>{t.use({ prefix, lastUse: describeLastUse(usedAt) })}</p>
        <p>{t.revokeEffect()}</p>
      </>
    );
    return { question: t.revokeQuestion({ name }), consequences, button: t.revoke(), returnPath: KEYS_PATH };
  },
  perform: async (ctx, caller) => {
    await revokeApiKey(caller, parseUuidParam(ctx), { origin: getRequestOrigin(ctx) });
    return `${KEYS_PATH}?done=revoked`;
  },
});

import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { listActiveApiKeys } from '../../../../shared/domain/accounts/apiKeys.ts';
import { ensureModelsKnown } from '../../../../shared/domain/catalog/knownModels.ts';
import { listKeyLimits } from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { presentApiKey } from '../../../../shared/presenters/apiKey.ts';
import type { ApiKey } from '../../../../shared/tables/ApiKey.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { EditForm, findEntered } from '../../../web/components/editForm.tsx';
import { describeLimitHint } from '../../../web/components/spendingLimit.tsx';
import { t as shared } from '../../../web/texts.ts';
import { KEY_OPTIONS, keyForm } from './keyForm.tsx';
import { t } from './texts.ts';
import { KEYS_PATH } from './view.tsx';

const OUTCOMES = {
  saved: t.saved,
} as const satisfies Outcomes;

/** Finds the active key that the address names. @throws ServiceError not_found */
export async function findActiveKey(ctx: Context): Promise<ApiKey> {
  const uuid = parseUuidParam(ctx);
  const key = (await listActiveApiKeys(requireCaller(ctx).accountId)).find((active) => active.uuid === uuid);
  if (key === undefined)
    throw new ServiceError('not_found', 'This API key does not exist or has already been revoked.');
  return key;
}

/**
 * Renders the form for the name and options of a key, again with what was entered if that was not accepted. After
 * another change of the key it shows the present options, as the rest of what was entered may be outdated.
 */
export async function renderKeyPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const key = await findActiveKey(ctx);
  const [account, limits] = await Promise.all([
    getAccount(accountId),
    listKeyLimits([key]),
    ensureModelsKnown(key.allowed_models ?? []),
  ]);
  const limit = limits.get(key.uuid) ?? null;
  const version = String(key.version);
  const values = findEntered(ctx, flash, version) ?? keyForm.write(presentApiKey(key, limit));
  // A test key spends no credits.
  const options = key.test_account_id === null ? KEY_OPTIONS : KEY_OPTIONS.filter((name) => name !== 'credit_limit');
  const children = (
    <section class="card" aria-labelledby="key">
      <h2 id="key">
        {key.name} {key.test_account_id === null ? null : <span class="tag">{shared.testTag()}</span>}
      </h2>
      <p class="quiet small">
        <code>{key.prefix}…</code>
      </p>
      <EditForm action={`${KEYS_PATH}${key.uuid}/`} former={version} back={KEYS_PATH} backText={t.back()}>
        <keyForm.Fields
          values={values}
          only={['name', ...options]}
          hints={{ credit_limit: describeLimitHint(limit, account.balance) }}
        />
      </EditForm>
    </section>
  );
  await sendAccountAreaPage(
    ctx,
    { current: KEYS_PATH, heading: shared.apiKey(), outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

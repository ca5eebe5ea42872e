import type { VNode } from 'preact';
import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { listActiveApiKeys } from '../../../../shared/domain/accounts/apiKeys.ts';
import { listKeyLimits, type SpendingLimits } from '../../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import { getActivePlan } from '../../../../shared/domain/credits/entitlement.ts';
import { config } from '../../../../shared/lib/config.ts';
import { ACTIVE_API_KEYS_MAX } from '../../../../shared/spec/limits.ts';
import type { SpendingLimitState } from '../../../../shared/presenters/spendingLimit.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import type { ApiKey } from '../../../../shared/tables/ApiKey.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { consumeDraft, DRAFT_ACCOUNT_FIELD } from '../../../pipeline/cookies/draftCookie.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Form, Notice, RequestKey } from '../../../web/components/form.tsx';
import { RequestSamples } from '../../../web/components/requestSamples.tsx';
import { describeLastUse, formatDate } from '../../../web/components/formatTime.ts';
import { describeKeyOptions } from '../../../web/components/keyOptions.ts';
import { describeLimitHint } from '../../../web/components/spendingLimit.tsx';
import { TEST_QUERY } from '../../../web/components/testData.tsx';
import { t as shared } from '../../../web/texts.ts';
import { t as names } from '../../texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { hasOptions, KEY_OPTIONS, keyForm } from './keyForm.tsx';
import { t } from './texts.ts';

export const KEYS_PATH = '/account/keys/';

const READING_LINKS = { guide: '/docs/api-keys/', link: '/api/docs/' };

const OUTCOMES = {
  revoked: t.revoked,
} as const satisfies Outcomes;

/** A created key with its text. */
export interface NewKey {
  name: string;
  key: string;
}

type ShownKey = NewKey & { isTest: boolean };

interface KeysFlash extends PageProblem {
  newKey?: ShownKey;
  /** True if the key is certain to be allowed to create with any model. */
  mayCreate?: boolean;
}

/** Renders the API keys of the account, with a form to create one. */
export async function renderKeysPage(ctx: Context, flash: KeysFlash = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [account, keys] = await Promise.all([getAccount(accountId), listActiveApiKeys(accountId)]);
  const limits = await listKeyLimits(keys);
  const { newKey, mayCreate = false, ...problem } = flash;
  // The errors of other forms are shown on this page, too.
  const isRejected = problem.problem !== undefined && ctx.path === KEYS_PATH;
  const entered = isRejected ? keyForm.keep(ctx.state.form) : undefined;
  const draft = keyForm.keep(consumeDraft(ctx, account.uuid));
  const children = (
    <>
      {newKey === undefined ? null : <CreatedKeyNotice name={newKey.name} text={newKey.key} />}
      {newKey === undefined || !mayCreate ? null : (
        <Section id="first-request" title={t.sendRequest()}>
          {newKey.isTest || getActivePlan(account) !== null ? null : (
            <div class="notice warn">
              <p>{t.planNeeded({ link: '/account/billing/#plans' })}</p>
            </div>
          )}
          <RequestSamples apiKey={newKey.key} />
          <p>{t.seeResult({ link: newKey.isTest ? `/account/library/?${TEST_QUERY}` : '/account/library/' })}</p>
        </Section>
      )}
      <KeysSection keys={keys} limits={limits} />
      <CreateSection account={account} values={entered ?? draft ?? keyForm.write({})} />
    </>
  );
  // The notice above says it.
  const title = newKey === undefined ? undefined : t.keyCreated();
  await sendAccountAreaPage(
    ctx,
    { current: KEYS_PATH, heading: names.apiKeys(), outcomes: OUTCOMES, ...problem, title, children },
    status,
  );
}

interface CreateProps {
  account: Account;
  /** Texts of the form. */
  values: URLSearchParams;
}

function KeysSection({ keys, limits }: { keys: ApiKey[]; limits: SpendingLimits }): VNode {
  return (
    <Section id="active-keys" title={t.activeKeys()}>
      <p class="quiet">
        {keys.length === 0
          ? t.noKeys(READING_LINKS)
          : t.keyCount({ count: keys.length, max: ACTIVE_API_KEYS_MAX, ...READING_LINKS })}
      </p>
      {keys.length === 0 ? null : (
        <ul class="rows">
          {keys.map((key) => (
            <li>
              <div class="what">
                <h3>
                  {key.name} {key.test_account_id === null ? null : <span class="tag">{shared.testTag()}</span>}
                </h3>
                <span class="quiet small">
                  {t.created({
                    prefix: key.prefix,
                    date: formatDate(key.created_at),
                    lastUse: describeLastUse(key.last_used_at),
                  })}
                </span>
                <OptionsLine apiKey={key} limit={limits.get(key.uuid) ?? null} />
              </div>
              <a
                class="button slight danger"
                href={`/account/keys/${key.uuid}/revoke/`}
                aria-label={t.revokeKey({ name: key.name })}
              >
                {t.revoke()}
              </a>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function CreateSection({ account, values }: CreateProps): VNode {
  return (
    <Section id="create-key" title={shared.createKey()}>
      <Form action={KEYS_PATH}>
        <RequestKey />
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
        <keyForm.Fields values={values} only={config.TEST_UPSTREAM_URL === undefined ? ['name'] : ['name', 'mode']} />
        <details open={hasOptions(values)}>
          <summary>{t.options()}</summary>
          <keyForm.Fields
            values={values}
            only={KEY_OPTIONS}
            hints={{ credit_limit: describeLimitHint(null, account.balance) }}
          />
        </details>
        <button type="submit" class="main">
          {t.create()}
        </button>
      </Form>
    </Section>
  );
}

/** Options of a key in short form, with the link to its page. */
function OptionsLine({ apiKey, limit }: { apiKey: ApiKey; limit: SpendingLimitState | null }): VNode {
  return (
    <p class="small">
      {describeKeyOptions(apiKey, limit)}{' '}
      <a href={`${KEYS_PATH}${apiKey.uuid}/`} aria-label={t.editKey({ name: apiKey.name })}>
        {shared.edit()}
      </a>
    </p>
  );
}

/** Notice with the text of a new key, which is shown only once. */
function CreatedKeyNotice({ name, text }: { name: string; text: string }): VNode {
  return (
    <Notice kind="good">
      <p>{t.keyCreatedSentence({ name })}</p>
      <CopyText id="new-key" text={text} label={t.theKey()} />
    </Notice>
  );
}

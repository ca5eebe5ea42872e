import type { VNode } from 'preact';
import { v4 as uuidv4 } from 'uuid';
import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { listActiveApiKeys } from '../../../shared/domain/accounts/apiKeys.ts';
import { config } from '../../../shared/lib/config.ts';
import { ACTIVE_API_KEYS_MAX, API_KEY_NAME_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import type { Account } from '../../../shared/tables/Account.ts';
import type { ApiKey } from '../../../shared/tables/ApiKey.ts';
import { requireCaller, type Context } from '../../context.ts';
import { consumeDraft, DRAFT_ACCOUNT_FIELD, type FormDraft } from '../../pipeline/cookies/draftCookie.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../components/accountPage.tsx';
import { CopyText } from '../components/copyText.tsx';
import { Form, Notice } from '../components/form.tsx';
import { formatRelativeTime, formatDate } from '../components/formatTime.ts';

export const KEYS_PATH = '/account/keys/';

const OUTCOMES = {
  revoked: ['API key revoked', 'The API key is revoked. Requests with it are now rejected.'],
} as const satisfies Outcomes;

interface KeysFlash extends PageProblem {
  newKey?: { name: string; key: string };
}

/** Renders the API keys of the account, with a form to create one. */
export async function renderKeysPage(ctx: Context, flash: KeysFlash = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [account, keys] = await Promise.all([getAccount(accountId), listActiveApiKeys(accountId)]);
  const { newKey, ...problem } = flash;
  const children = (
    <>
      {newKey === undefined ? null : <CreatedKeyNotice name={newKey.name} text={newKey.key} />}
      <KeysSection
        account={account}
        keys={keys}
        draft={consumeDraft(ctx, account.uuid)}
        csrfToken={createCsrfToken(ctx)}
      />
    </>
  );
  // The notice above says it.
  const title = newKey === undefined ? undefined : 'API key created';
  sendAccountAreaPage(
    ctx,
    { current: KEYS_PATH, heading: 'API keys', outcomes: OUTCOMES, ...problem, title, children },
    status,
  );
}

interface KeysProps {
  account: Account;
  keys: ApiKey[];
  draft: FormDraft;
  csrfToken: string;
}

function KeysSection({ account, keys, draft, csrfToken }: KeysProps): VNode {
  return (
    <section class="card" aria-labelledby="active-keys">
      <h2 id="active-keys">Active keys</h2>
      <p class="quiet">
        {keys.length === 0
          ? 'No API keys yet. Create one below to call the API from your programs. '
          : `Your programs authenticate with these keys: ${keys.length} of at most ${ACTIVE_API_KEYS_MAX}. `}
        <a href="/api/docs/">API reference</a>
      </p>
      {keys.length === 0 ? null : (
        <ul class="rows">
          {keys.map((key) => (
            <li>
              <div class="what">
                <h3>
                  {key.name}
                  {key.test_account_id === null ? null : <span class="tag">Test</span>}
                </h3>
                <span class="quiet small">
                  <code>{key.prefix}…</code> created on {formatDate(key.created_at)},{' '}
                  {key.last_used_at === null ? 'never used' : `last used ${formatRelativeTime(key.last_used_at)}`}
                </span>
              </div>
              <a
                class="button slight danger"
                href={`/account/keys/${key.uuid}/revoke/`}
                aria-label={`Revoke API key ${key.name}`}
              >
                Revoke
              </a>
            </li>
          ))}
        </ul>
      )}
      <Form action="/account/keys/" token={csrfToken} class="inline">
        <input type="hidden" name="request" value={uuidv4()} />
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
        <div class="field">
          <label for="key-name">Key name</label>
          <input
            id="key-name"
            type="text"
            name="name"
            value={draft.name}
            required
            maxLength={API_KEY_NAME_MAX_CHARACTERS}
            placeholder="Production server"
            autocomplete="off"
          />
        </div>
        {config.TEST_UPSTREAM_URL === undefined ? null : <ModeField />}
        <button type="submit">Create API key</button>
      </Form>
    </section>
  );
}

/** Choice of the mode of a new key. */
function ModeField(): VNode {
  return (
    <div class="field">
      <label for="key-mode">Mode</label>
      <select id="key-mode" name="mode" aria-describedby="key-mode-hint">
        <option value="live">Live</option>
        <option value="test">Test</option>
      </select>
      <span id="key-mode-hint" class="quiet small">
        Generations of a test key cost nothing. Their outputs are watermarked samples.
      </span>
    </div>
  );
}

/** Notice with the text of a new key, which is shown only once. */
function CreatedKeyNotice({ name, text }: { name: string; text: string }): VNode {
  return (
    <Notice kind="good">
      <strong>API key “{name}” created.</strong> Copy it now. It will not be shown again.
      <CopyText id="new-key" text={text} label="the API key" />
    </Notice>
  );
}

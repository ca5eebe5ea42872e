import type { VNode } from 'preact';
import { API_KEY_NAME_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { DRAFT_ACCOUNT_FIELD } from '../../pipeline/cookies/draftCookie.ts';
import { Form, Notice } from '../components/form.tsx';
import type { AccountFormContext, AccountOverview } from './overview.ts';
import { formatRelativeTime, formatDate } from '../components/formatTime.ts';

/** API keys of the account, with a form to create one. */
export function ApiKeysSection({
  account,
  keys,
  formContext,
}: AccountOverview & { formContext: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      <p class="quiet">
        {keys.length === 0
          ? 'No API keys yet. Create one below to call the API from your programs. '
          : 'Your programs authenticate with these keys. '}
        <a href="/api/docs/">API reference</a>
      </p>
      {keys.length === 0 ? null : (
        <ul class="rows">
          {keys.map((key) => (
            <li>
              <div class="what">
                <h3>{key.name}</h3>
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
      <Form action="/account/keys/" token={formContext.csrfToken} class="inline">
        <input type="hidden" name="request" value={formContext.idempotencyKey} />
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
        <div class="field">
          <label for="key-name">Key name</label>
          <input
            id="key-name"
            type="text"
            name="name"
            value={formContext.draft.name}
            required
            maxLength={API_KEY_NAME_MAX_CHARACTERS}
            placeholder="Production server"
            autocomplete="off"
          />
        </div>
        <button type="submit">Create API key</button>
      </Form>
    </section>
  );
}

/** Notice with the text of a new key, which is shown only once. */
export function CreatedKeyNotice({ name, text }: { name: string; text: string }): VNode {
  return (
    <Notice kind="good">
      <strong>API key “{name}” created.</strong> Copy it now. It will not be shown again.
      <span class="secret">{text}</span>
    </Notice>
  );
}

import type { VNode } from 'preact';
import { API_KEY_NAME_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { DRAFT_ACCOUNT_FIELD } from '../../pipeline/cookies/draftCookie.ts';
import { Form, Notice } from '../components/form.tsx';
import type { AccountFormContext, AccountOverview } from './overview.ts';
import { formatRelativeTime, formatDate } from '../components/formatTime.ts';

/** The keys that programs use. */
export function ApiKeysSection({ account, keys, secrets }: AccountOverview & { secrets: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      <p class="quiet">
        {keys.length === 0 ? 'None yet. ' : ''}A program that uses <a href="/api/docs/">the API</a> needs one.
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
                aria-label={`Revoke the key ${key.name}`}
              >
                Revoke
              </a>
            </li>
          ))}
        </ul>
      )}
      <Form action="/account/keys/" token={secrets.csrfToken} class="inline">
        <input type="hidden" name="request" value={secrets.idempotencyKey} />
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
        <div class="field">
          <label for="key-name">Name of the new key</label>
          <input
            id="key-name"
            type="text"
            name="name"
            value={secrets.draft.name}
            required
            maxLength={API_KEY_NAME_MAX_CHARACTERS}
            placeholder="my script"
            autocomplete="off"
          />
        </div>
        <button type="submit">Create API key</button>
      </Form>
    </section>
  );
}

/** A key that was just created, in the one answer that ever shows it. */
export function CreatedKeyNotice({ name, text }: { name: string; text: string }): VNode {
  return (
    <Notice kind="good">
      <strong>API key “{name}” created.</strong> Copy it now: it is not shown again.
      <span class="secret">{text}</span>
    </Notice>
  );
}

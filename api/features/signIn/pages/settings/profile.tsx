import type { VNode } from 'preact';
import { PROFILE_TEXT_MAX_CHARACTERS } from '../../../../../shared/spec/limits.ts';
import type { Account } from '../../../../../shared/tables/Account.ts';
import { DRAFT_ACCOUNT_FIELD, type FormDraft } from '../../../../pipeline/cookies/draftCookie.ts';
import { Form } from '../../../../web/components/form.tsx';

/** Languages to choose from, by code. */
const LANGUAGES: readonly (readonly [code: string, name: string])[] = [
  ['ar', 'العربية'],
  ['de', 'Deutsch'],
  ['en', 'English'],
  ['es', 'Español'],
  ['fr', 'Français'],
  ['hi', 'हिन्दी'],
  ['id', 'Bahasa Indonesia'],
  ['it', 'Italiano'],
  ['ja', '日本語'],
  ['ko', '한국어'],
  ['nl', 'Nederlands'],
  ['pl', 'Polski'],
  ['pt', 'Português'],
  ['pt-BR', 'Português (Brasil)'],
  ['ru', 'Русский'],
  ['tr', 'Türkçe'],
  ['uk', 'Українська'],
  ['vi', 'Tiếng Việt'],
  ['zh', '中文'],
];

/** Lists the languages, and first the current one if another program has set it. */
function listLanguages(current: string): typeof LANGUAGES {
  return LANGUAGES.some(([code]) => code === current) ? LANGUAGES : [[current, current], ...LANGUAGES];
}

interface ProfileProps {
  account: Account;
  draft: FormDraft;
  csrfToken: string;
}

/** Profile form with the e-mail address. */
export function ProfileSection({ account, draft, csrfToken }: ProfileProps): VNode {
  const language = draft.language ?? account.language;
  return (
    <section class="card" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl>
        <dt>E-mail address</dt>
        <dd>{account.email}</dd>
      </dl>
      <Form action="/account/profile/" token={csrfToken} class="inline">
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
        <div class="field">
          <label for="first-name">First name</label>
          <input
            id="first-name"
            type="text"
            name="first_name"
            value={draft.first_name ?? account.first_name}
            maxLength={PROFILE_TEXT_MAX_CHARACTERS}
            autocomplete="given-name"
          />
        </div>
        <div class="field">
          <label for="use-case">Use case</label>
          <input
            id="use-case"
            type="text"
            name="use_case"
            value={draft.use_case ?? account.use_case}
            maxLength={PROFILE_TEXT_MAX_CHARACTERS}
            autocomplete="off"
          />
        </div>
        <div class="field">
          <label for="language">Language</label>
          <span class="hint" id="language-hint">
            For e-mail (English or German) and for applications that read your profile. These pages are in English.
          </span>
          <select id="language" name="language" autocomplete="language" aria-describedby="language-hint">
            {listLanguages(language).map(([code, name]) => (
              <option value={code} selected={code === language}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <button type="submit">Save</button>
      </Form>
    </section>
  );
}

import type { VNode } from 'preact';
import type { Account } from '../../../../../shared/tables/Account.ts';
import { DRAFT_ACCOUNT_FIELD, type FormDraft } from '../../../../pipeline/cookies/draftCookie.ts';
import { defineForm } from '../../../../web/components/defineForm.tsx';
import type { Options } from '../../../../web/components/fields.tsx';
import { Form } from '../../../../web/components/form.tsx';
import { selectField, textField } from '../../../../web/components/formFields.tsx';
import { ProfileRequest } from '../../schemas.ts';

/** Languages to choose from, by code. */
const LANGUAGES: Options = [
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
function listLanguages(current: string): Options {
  return LANGUAGES.some(([code]) => code === current) ? LANGUAGES : [[current, current], ...LANGUAGES];
}

/** Form for the profile, without the e-mail address. */
export const profileForm = defineForm(
  { prefix: 'profile', schema: ProfileRequest },
  {
    first_name: textField({ label: 'First name', autocomplete: 'given-name' }),
    use_case: textField({ label: 'Use case' }),
    language: selectField({
      label: 'Language',
      options: listLanguages,
      hint: 'For e-mail (English or German) and for applications that read your profile. These pages are in English.',
      isHintAbove: true,
      autocomplete: 'language',
    }),
  },
);

interface ProfileProps {
  account: Account;
  draft: FormDraft;
  csrfToken: string;
}

/** Profile form with the e-mail address. */
export function ProfileSection({ account, draft, csrfToken }: ProfileProps): VNode {
  const { first_name, use_case, language } = account;
  return (
    <section class="card" aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <dl>
        <dt>E-mail address</dt>
        <dd>{account.email}</dd>
      </dl>
      <Form action="/account/profile/" token={csrfToken} class="inline">
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={account.uuid} />
        <profileForm.Fields values={profileForm.write({ first_name, use_case, language, ...draft })} />
        <button type="submit">Save</button>
      </Form>
    </section>
  );
}

import type { VNode } from 'preact';
import { LANGUAGE_NAMES } from '../../../../../shared/spec/languages.ts';
import type { Person } from '../../../../../shared/tables/Person.ts';
import { DRAFT_ACCOUNT_FIELD } from '../../../../pipeline/cookies/draftCookie.ts';
import { defineForm } from '../../../../web/components/defineForm.tsx';
import type { Options } from '../../../../web/components/fields.tsx';
import { Form } from '../../../../web/components/form.tsx';
import { selectField, textField } from '../../../../web/components/formFields.tsx';
import { ProfileRequest } from '../../schemas.ts';
import { t as shared } from '../../../../web/texts.ts';
import { Facts, Section } from '../../../../web/components/section.tsx';
import { t } from './texts.ts';

/** Lists the languages, and first the current code if another program has set one that is not offered. */
function listLanguages(current: string): Options {
  const languages = Object.entries(LANGUAGE_NAMES);
  return current in LANGUAGE_NAMES ? languages : [[current, current], ...languages];
}

/** Form for the profile, without the e-mail address. */
export const profileForm = defineForm(
  { prefix: 'profile', schema: ProfileRequest },
  {
    first_name: textField({ label: t.firstName, autocomplete: 'given-name' }),
    use_case: textField({ label: t.useCase }),
    language: selectField({
      label: t.language,
      options: listLanguages,
      hint: t.languageHint,
      isHintAbove: true,
      autocomplete: 'language',
    }),
  },
);

interface ProfileProps {
  person: Person;
  accountUuid: string;
  /** Values that were entered before a sign-in. */
  draft: URLSearchParams | undefined;
}

/** Profile form with the e-mail address. */
export function ProfileSection({ person, accountUuid, draft }: ProfileProps): VNode {
  const { first_name, use_case, language } = person;
  return (
    <Section id="profile" title={t.profile()}>
      <Facts facts={[[shared.emailAddress(), person.email]]} />
      <Form action="/account/profile/" class="inline">
        <input type="hidden" name={DRAFT_ACCOUNT_FIELD} value={accountUuid} />
        <profileForm.Fields values={profileForm.keep(draft) ?? profileForm.write({ first_name, use_case, language })} />
        <button type="submit">{shared.save()}</button>
      </Form>
    </Section>
  );
}

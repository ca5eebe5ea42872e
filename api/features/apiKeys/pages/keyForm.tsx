import type { ComponentChildren } from 'preact';
import { getOfferedModels } from '../../../../shared/lib/catalog/catalog.ts';
import { findModelInfo } from '../../../../shared/lib/catalog/knownModels.ts';
import { ALL_KEY_SCOPES } from '../../../../shared/spec/oauth.ts';
import { SPENDING_PERIODS } from '../../../../shared/spec/states.ts';
import { defineForm } from '../../../web/components/defineForm.tsx';
import { choicesField, dateField, listField, selectField, textField } from '../../../web/components/formFields.tsx';
import { spendingLimitField } from '../../../web/components/spendingLimit.tsx';
import { t as shared } from '../../../web/texts.ts';
import { CreateApiKeyRequest } from '../schemas.ts';
import { FORM as t, KEY_SCOPE_TEXTS } from './texts.ts';

/** Offered models by name, and those of the key that are no longer offered. */
function listModelChoices(chosen: readonly string[]): (readonly [string, ComponentChildren])[] {
  const offered = getOfferedModels();
  const others = chosen.filter((slug) => !offered.some((model) => model.slug === slug));
  return [
    ...offered.map(({ slug, name }) => [slug, name] as const),
    ...others.map(
      (slug) =>
        [
          slug,
          <span>
            {findModelInfo(slug)?.name ?? slug} <span class="hint">{t.notOffered()}</span>
          </span>,
        ] as const,
    ),
  ];
}

/** Form for the name, mode and options of a key. */
export const keyForm = defineForm(
  { prefix: 'key', schema: CreateApiKeyRequest },
  {
    name: textField({ label: t.name, placeholder: t.production }),
    mode: selectField({
      label: t.mode,
      options: () => [
        ['live', t.live()],
        ['test', shared.testTag()],
      ],
      hint: t.modeHint,
    }),
    expires_at: dateField({
      label: t.expiry,
      hint: t.expiryHint,
    }),
    credit_limit: spendingLimitField({ periods: SPENDING_PERIODS, isApart: true }),
    scopes: choicesField({
      label: t.scopes,
      all: { name: 'all_scopes', label: t.wholeAccount },
      items: ALL_KEY_SCOPES.map((scope) => [
        scope,
        () => (
          <span>
            <code>{scope}</code> <span class="hint">{KEY_SCOPE_TEXTS[scope]()}</span>
          </span>
        ),
      ]),
      errors: {
        both: 'You chose the whole account and single scopes. Clear one of the two choices.',
        none: 'Choose the whole account, or at least one scope.',
      },
      sentWith: 'expires_at',
    }),
    allowed_models: choicesField<string>({
      label: t.models,
      all: { name: 'all_models', label: t.allModels },
      items: listModelChoices,
      errors: {
        both: 'You chose all models and single models. Clear one of the two choices.',
        none: 'Choose all models, or at least one model.',
      },
      sentWith: 'expires_at',
    }),
    allowed_ips: listField({
      label: t.addresses,
      hint: t.addressesHint,
    }),
  },
);

export const KEY_OPTIONS = ['expires_at', 'credit_limit', 'scopes', 'allowed_models', 'allowed_ips'] as const;

/** Returns whether a form shows any option. */
export function hasOptions(values: URLSearchParams): boolean {
  const names = ['expires_at', 'limit_credits', 'scopes', 'allowed_models', 'allowed_ips'];
  return (
    !values.has('all_scopes') || !values.has('all_models') || names.some((name) => (values.get(name) ?? '') !== '')
  );
}

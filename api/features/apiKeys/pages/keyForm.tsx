import type { VNode } from 'preact';
import { formatIpRange } from '../../../../shared/lib/ipRanges.ts';
import type { SpendingLimitState } from '../../../../shared/presenters/spendingLimit.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { API_KEY_NAME_MAX_CHARACTERS } from '../../../../shared/spec/limits.ts';
import { ALL_KEY_SCOPES, KEY_SCOPES } from '../../../../shared/spec/oauth.ts';
import { SPENDING_PERIODS } from '../../../../shared/spec/states.ts';
import type { ApiKey } from '../../../../shared/tables/ApiKey.ts';
import {
  parseSpendingLimit,
  readSpendingLimitValues,
  SpendingLimitFields,
  type SpendingLimitValues,
  toSpendingLimitValues,
} from '../../../web/components/spendingLimit.tsx';

/** Values of the fields of a key, as entered. */
export interface KeyValues {
  name: string;
  mode: string;
  expiresAt: string;
  limit: SpendingLimitValues;
  /** Without single scopes. */
  hasAllScopes: boolean;
  /** Single scopes. */
  scopes: readonly string[];
  models: string;
  ips: string;
}

export const NEW_KEY: KeyValues = {
  name: '',
  mode: 'live',
  expiresAt: '',
  limit: toSpendingLimitValues(null),
  hasAllScopes: true,
  scopes: [],
  models: '',
  ips: '',
};

const DATE = /^\d{4}-\d\d-\d\d$/;

export function toKeyValues(key: ApiKey, limit: SpendingLimitState | null): KeyValues {
  return {
    name: key.name,
    mode: key.test_account_id === null ? 'live' : 'test',
    expiresAt: key.expires_at?.toISOString().replace('T00:00:00.000Z', '') ?? '',
    limit: toSpendingLimitValues(limit),
    hasAllScopes: key.scopes === null,
    scopes: key.scopes ?? [],
    models: (key.allowed_models ?? []).join('\n'),
    ips: (key.allowed_ips ?? []).map(formatIpRange).join('\n'),
  };
}

/** Reads what was entered, so that a rejected form keeps it. Undefined if this was another form. */
export function readEnteredValues(form: URLSearchParams | undefined): KeyValues | undefined {
  const name = form?.get('name');
  if (form === undefined || name == null) return undefined;
  return {
    name,
    mode: form.get('mode') ?? NEW_KEY.mode,
    expiresAt: form.get('expires_at') ?? '',
    limit: readSpendingLimitValues(form),
    hasAllScopes: hasScopeFields(form) ? form.has('all_scopes') : true,
    scopes: form.getAll('scopes'),
    models: form.get('allowed_models') ?? '',
    ips: form.get('allowed_ips') ?? '',
  };
}

/**
 * Reads the name and options of a form. The parser of the API checks them. An empty field is null; a field that the form
 * does not contain is not part of the result.
 * @throws ServiceError validation_error if the credits are invalid, or the choice of scopes is contradictory or empty.
 */
export function readKeyRequest(form: URLSearchParams): object {
  const fields = {
    name: form.get('name') ?? undefined,
    scopes: hasScopeFields(form) ? readScopes(form) : undefined,
    expires_at: form.has('expires_at') ? form.get('expires_at')?.trim() || null : undefined,
    credit_limit: parseSpendingLimit(form, SPENDING_PERIODS),
    allowed_models: readList(form, 'allowed_models'),
    allowed_ips: readList(form, 'allowed_ips'),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Returns whether a form has the check boxes of scopes: browsers send a field beside them even if none is checked. */
function hasScopeFields(form: URLSearchParams): boolean {
  return form.has('expires_at') || form.has('scopes') || form.has('all_scopes');
}

function readScopes(form: URLSearchParams): string[] | null {
  const scopes = form.getAll('scopes');
  const hasAll = form.has('all_scopes');
  if (hasAll && scopes.length > 0) {
    const detail = 'You chose the whole account and single scopes. Clear one of the two choices.';
    throw new ServiceError('validation_error', detail);
  }
  if (!hasAll && scopes.length === 0)
    throw new ServiceError('validation_error', 'Choose the whole account, or at least one scope.');
  return hasAll ? null : scopes;
}

/** Reads a list whose items are separated by commas or white space. */
function readList(form: URLSearchParams, name: string): string[] | null | undefined {
  const text = form.get(name);
  if (text === null) return undefined;
  const items = text.split(/[\s,]+/).filter((item) => item !== '');
  return items.length === 0 ? null : items;
}

/** Returns whether any option was entered. */
export function hasOptions({ expiresAt, limit, hasAllScopes, scopes, models, ips }: KeyValues): boolean {
  return !hasAllScopes || [expiresAt, limit.credits, models, ips, ...scopes].some((text) => text !== '');
}

/** Field for the name of a key. */
export function KeyNameField({ value, placeholder }: { value: string; placeholder?: string }): VNode {
  return (
    <div class="field">
      <label for="key-name">Key name</label>
      <input
        id="key-name"
        type="text"
        name="name"
        value={value}
        required
        maxLength={API_KEY_NAME_MAX_CHARACTERS}
        placeholder={placeholder}
        autocomplete="off"
      />
    </div>
  );
}

interface OptionFieldsProps {
  values: KeyValues;
  /** The limit in force. */
  limit: SpendingLimitState | null;
  balance: number;
  /** False for a test key, which spends no credits. */
  hasLimit?: boolean;
}

/** Fields for the options of a key. */
export function KeyOptionFields({ values, limit, balance, hasLimit = true }: OptionFieldsProps): VNode {
  const { expiresAt, hasAllScopes, scopes, models, ips } = values;
  const expiryField = {
    id: 'key-expires-at',
    name: 'expires_at',
    value: expiresAt,
    autocomplete: 'off',
    'aria-describedby': 'key-expires-at-hint',
  };
  return (
    <>
      <div class="field">
        <label for="key-expires-at">Expiry date</label>
        {/* Browsers show no time, and no invalid date, in a field for dates. */}
        {expiresAt === '' || DATE.test(expiresAt) ? (
          <input type="date" {...expiryField} />
        ) : (
          <input type="text" {...expiryField} />
        )}
        <span class="hint" id="key-expires-at-hint">
          The key is rejected from the start of this day in UTC. Leave it empty for a key that never expires.
        </span>
      </div>
      {hasLimit ? (
        <div class="apart">
          <SpendingLimitFields values={values.limit} current={limit} balance={balance} periods={SPENDING_PERIODS} />
        </div>
      ) : null}
      <fieldset class="apart">
        <legend>Scopes</legend>
        <div class="choices long">
          <label>
            <input type="checkbox" name="all_scopes" value="on" checked={hasAllScopes} /> The whole account; with any
            other option only svc:read and svc:write
          </label>
          {ALL_KEY_SCOPES.map((scope) => (
            <label>
              <input type="checkbox" name="scopes" value={scope} checked={scopes.includes(scope)} />
              <span>
                <code>{scope}</code> <span class="hint">{KEY_SCOPES[scope]}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <ListField id="key-models" name="allowed_models" label="Allowed models" value={models}>
        Models that the key may use, separated by commas or line breaks. Leave it empty for all models.
      </ListField>
      <ListField id="key-ips" name="allowed_ips" label="Allowed addresses" value={ips}>
        IP addresses, or ranges such as 192.0.2.0/24, from which the key may be used. Leave it empty for all addresses.
      </ListField>
    </>
  );
}

interface ListFieldProps {
  id: string;
  name: string;
  label: string;
  value: string;
  children: string;
}

function ListField({ id, name, label, value, children }: ListFieldProps): VNode {
  return (
    <div class="field apart">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        rows={3}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-hint`}
        value={value}
      />
      <span class="hint" id={`${id}-hint`}>
        {children}
      </span>
    </div>
  );
}

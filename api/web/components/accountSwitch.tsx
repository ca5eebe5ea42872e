import type { VNode } from 'preact';
import { invalidCredentialError } from '../../../shared/domain/accounts/credentials.ts';
import { type JoinedAccount, listJoinedAccounts } from '../../../shared/domain/members/switchAccount.ts';
import { getPlanBySlug } from '../../../shared/lib/catalog/catalog.ts';
import { type Context, requireCaller } from '../../context.ts';
import { t } from '../texts.ts';
import { SelectField } from './fields.tsx';
import { Form } from './form.tsx';
import { formatDate } from './formatTime.ts';

/** Choice of the account that the session acts on, for a person who is a member of several. */
export function AccountSwitch({ accounts }: { accounts: readonly JoinedAccount[] }): VNode | null {
  if (accounts.length < 2) return null;
  const current = accounts.find(({ is_current: isCurrent }) => isCurrent)?.uuid ?? '';
  return (
    <Form action="/account/switch/" class="inline">
      <SelectField
        id="switch-to"
        name="switch_to"
        label={t.switchAccount()}
        value={current}
        options={accounts.map((account) => [account.uuid, nameAccount(account, accounts)])}
      />
      <button type="submit">{t.switchTo()}</button>
    </Form>
  );
}

/**
 * Names the account that a session acts on, as the switch does.
 * @param known accounts of its person, if they are read already.
 * @throws ServiceError invalid_api_key if the person is not a member any more.
 */
export async function nameCurrentAccount(ctx: Context, known?: readonly JoinedAccount[]): Promise<string> {
  const caller = requireCaller(ctx);
  const accounts = known ?? (await listJoinedAccounts(caller));
  const current = accounts.find(({ is_current: isCurrent }) => isCurrent);
  if (current === undefined) throw invalidCredentialError(caller);
  return nameAccount(current, accounts);
}

/**
 * Names an account of a person by the address of its owner; if several of them have it, also by plan, balance and date
 * of creation.
 */
function nameAccount(account: JoinedAccount, accounts: readonly JoinedAccount[]): string {
  const { email, plan_slug: slug, balance, created_at: createdAt } = account;
  if (accounts.filter((other) => other.email === email).length === 1) return email;
  const plan = slug === null ? 'none' : getPlanBySlug(slug).name;
  return t.namedAccount({ email, plan, credits: balance, date: formatDate(createdAt) });
}

import type { Account } from '../../tables/Account.ts';
import type { Email } from '../../tables/Email.ts';
import { isKindEnabled } from './settings.ts';

/**
 * Returns whether a message is sent to an account. Checked when it is written and when it is sent, as the account may
 * have been erased or the kind switched off in between. Suspended accounts, and those that are to be deleted, receive
 * messages.
 */
export function isMessageWanted(
  { kind, params }: Pick<Email, 'kind' | 'params'>,
  { erased_at: erasedAt, email_settings: settings }: Pick<Account, 'erased_at' | 'email_settings'>,
): boolean {
  // The customer was present at a manual top-up and has seen the outcome.
  const isManualTopup = kind === 'auto_topup_failed' && params['kind'] === 'manual';
  return erasedAt === null && !isManualTopup && isKindEnabled(settings, kind);
}

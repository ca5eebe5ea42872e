import { ServiceError } from '../../spec/errors.ts';
import { EMAIL_KINDS, type EmailKind, type OwnerEmailKind, UNCONDITIONAL_EMAIL_KINDS } from '../../spec/events.ts';
import { Account } from '../../tables/Account.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { getLowCreditsThreshold } from '../credits/lowCredits.ts';

/** Page of the settings. */
export const NOTIFICATIONS_PATH = '/account/notifications/';

/** Messages that the owner of an account receives. */
export interface NotificationSettings {
  /** Each kind of message, and whether it is sent. Those about security always are. */
  email: Record<OwnerEmailKind, boolean>;
  /** Balance below which credits are low; null: a tenth of the credits granted for the month. */
  creditsLowThreshold: number | null;
  /** The threshold that applies at present. */
  effectiveThreshold: number;
}

export interface NotificationSettingsPatch {
  email?: Partial<Record<OwnerEmailKind, boolean>>;
  creditsLowThreshold?: number | null;
}

/** Returns whether the owner can switch messages of a kind off: all but those about security and members. */
export function isSwitchable(kind: EmailKind): boolean {
  return !UNCONDITIONAL_EMAIL_KINDS.includes(kind);
}

/** Returns whether messages of a kind are sent to an account. */
export function isKindEnabled(settings: Account['email_settings'], kind: EmailKind): boolean {
  return !isSwitchable(kind) || settings[kind] !== false;
}

export async function getNotificationSettings(accountId: number): Promise<NotificationSettings> {
  return toSettings(await Account.query().findById(accountId).throwIfNotFound());
}

/**
 * Changes the settings; what is omitted stays. A threshold that the balance has reached ends the time of low credits,
 * so that the next crossing is notified of.
 * @throws ServiceError validation_error for a kind that cannot be switched off, or if the account is being deleted.
 */
export async function updateNotificationSettings(
  caller: Caller,
  { email = {}, creditsLowThreshold }: NotificationSettingsPatch,
): Promise<NotificationSettings> {
  const locked = EMAIL_KINDS.find((kind) => email[kind] === false && !isSwitchable(kind));
  if (locked !== undefined) {
    const field = `email.${locked}`;
    throw new ServiceError('validation_error', `${field} must be true: messages about security are always sent.`, {
      field,
    });
  }
  return withAccountOfCaller(caller, async (transaction, account) => {
    if (account.erased_at !== null) return toSettings(account);
    assertNotDeleting(account);
    const changed = EMAIL_KINDS.filter((kind) => email[kind] !== undefined && isSwitchable(kind));
    const changes: Partial<Account> = {
      email_settings: { ...account.email_settings, ...Object.fromEntries(changed.map((kind) => [kind, email[kind]])) },
    };
    if (creditsLowThreshold !== undefined) changes.credits_low_threshold = creditsLowThreshold;
    return toSettings(await account.$query(transaction).patchAndFetch(changes));
  });
}

function toSettings(account: Account): NotificationSettings {
  const email = EMAIL_KINDS.map((kind) => [kind, isKindEnabled(account.email_settings, kind)]);
  return {
    email: Object.fromEntries(email) as NotificationSettings['email'],
    creditsLowThreshold: account.credits_low_threshold,
    effectiveThreshold: getLowCreditsThreshold(account),
  };
}

import type { Account } from '../../tables/Account.ts';
import type { Email } from '../../tables/Email.ts';

/** A claimed message with the columns of its account that it needs. `leased_until` identifies the claim. */
export type ClaimedEmail = Omit<Email, 'leased_until'> &
  Pick<Account, 'first_name' | 'language' | 'erased_at' | 'email_settings'> & {
    leased_until: Date;
    account_uuid: string;
    address: string;
  };

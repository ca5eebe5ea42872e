import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Referral } from '../../tables/Referral.ts';
import { type ReferralClick, findReferrer } from '../affiliates/referrals.ts';
import { assertNotDeleting } from './assertNotDeleting.ts';
import type { Restrictions } from './restrictions.ts';

/** Account of a request, after its credential has been read. */
export interface Caller {
  accountId: number;
  /** Set if the API key is still to be checked, by the statement that serves the request. */
  keyHash: Buffer | null;
  /** Hash of the session cookie, if that is the credential. */
  sessionHash?: Buffer;
  /** Application whose access token was sent; null for a key or a session. */
  clientId: string | null;
  /** Grant of that token, which the statement that serves the request checks again. */
  grantUuid?: string;
  /** True for a test account, which a test key acts on. */
  isTest?: boolean;
  /** Version of the key's options, which that statement compares. */
  keyVersion?: number;
  /** Rights of the credential. Undefined: all rights of the account. */
  restrictions?: Restrictions;
}

/** Builds the caller of work that the service does on an account by itself, without a credential. */
export const buildServiceCaller = (accountId: number): Caller => ({ accountId, keyHash: null, clientId: null });

/** Caller that an API key identifies. */
export interface KeyCaller extends Caller {
  keyHash: Buffer;
  keyVersion: number;
}

export const ACCOUNT_SUSPENDED_DETAIL = 'The account is suspended. Contact support to have it reinstated.';

/** Builds the error for every use of a credential of a suspended account. */
export function accountSuspendedError(): ServiceError {
  return new ServiceError('account_suspended', ACCOUNT_SUSPENDED_DETAIL);
}

export const APPLICATION_DISCONNECTED_DETAIL = 'The application was disconnected from the account: connect it again.';

export const SESSION_ENDED_DETAIL = 'The session has ended: sign in again.';

export const SESSION_ENDED_MEANWHILE_DETAIL =
  'The session ended while the request ran. Nothing was created or changed: sign in again.';

/** Builds the error for a key that is not valid, or a session or an application that was ended while its request ran. */
export function invalidCredentialError({
  grantUuid,
  sessionHash,
}: Pick<Caller, 'grantUuid' | 'sessionHash'>): ServiceError {
  if (grantUuid !== undefined) return new ServiceError('invalid_api_key', APPLICATION_DISCONNECTED_DETAIL);
  if (sessionHash !== undefined) return new ServiceError('invalid_api_key', SESSION_ENDED_DETAIL);
  return new ServiceError('invalid_api_key', 'The API key is unknown or revoked.');
}

/** Profile fields that the account owner can set. */
export interface ProfileInput {
  first_name?: string;
  language?: string;
  use_case?: string;
}

/** Details for a new account. An existing account is not changed. */
export interface NewAccountDetails {
  firstName?: string;
  /** Referral link that the customer followed. */
  referralClick?: ReferralClick | null;
}

/**
 * Finds the account of a verified e-mail address, or creates it. A referral is recorded only when the account is created,
 * in the same transaction.
 */
export async function findOrCreateAccountByEmail(
  email: string,
  socialProvider: string,
  { firstName = '', referralClick = null }: NewAccountDetails = {},
  outerTransaction?: Transaction,
): Promise<Account> {
  const address = email.toLowerCase();
  const found = await Account.query(outerTransaction).findOne({ email: address });
  if (found !== undefined) return found;
  const referrer = referralClick === null ? null : await findReferrer(referralClick, address, outerTransaction);
  const insertAccount = async (transaction: Transaction) => {
    // Two simultaneous first sign-ins both insert; the unique address accepts one.
    const inserted = await Account.query(transaction)
      .insert({
        uuid: uuidv7(),
        email: address,
        first_name: firstName,
        social_provider: socialProvider,
        created_at: now(),
      })
      .onConflict('email')
      .ignore();
    // The insert that was ignored returns no id.
    const id = inserted.id as number | undefined;
    if (id !== undefined && referralClick !== null && referrer !== null) {
      const referral = {
        account_id: id,
        affiliate_id: referrer,
        clicked_at: referralClick.clickedAt,
        network: referralClick.network,
        created_at: now(),
      };
      await Referral.query(transaction).insert(referral);
    }
  };
  await (outerTransaction === undefined ? Account.transaction(insertAccount) : insertAccount(outerTransaction));
  return Account.query(outerTransaction).findOne({ email: address }).throwIfNotFound();
}

export async function getAccount(accountId: number): Promise<Account> {
  return Account.query().findById(accountId).throwIfNotFound();
}

/** @throws ServiceError validation_error if the account is being deleted. */
export async function updateProfile(accountId: number, profile: ProfileInput): Promise<Account> {
  const account = await getAccount(accountId);
  if (Object.keys(profile).length === 0) return account;
  assertNotDeleting(account);
  // Not to an account that was erased in the meantime.
  await Account.query().findById(accountId).whereNull('erased_at').patch(profile);
  return getAccount(accountId);
}

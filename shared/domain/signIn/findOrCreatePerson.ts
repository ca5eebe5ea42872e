import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Language } from '../../spec/languages.ts';
import { Account } from '../../tables/Account.ts';
import { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import { Referral } from '../../tables/Referral.ts';
import { pickOwnerColumns } from '../accounts/people.ts';
import { type ReferralClick, findReferrer } from '../affiliates/referrals.ts';
import { recordEvent } from '../outbox/recordEvent.ts';

/** Details for a new person. An existing one is not changed. */
export interface NewPersonDetails {
  firstName?: string;
  language?: Language;
  /** Referral link that the customer followed. */
  referralClick?: ReferralClick | null;
}

/**
 * Finds the person of a verified e-mail address, or creates it with an account that it owns. A referral is recorded
 * only when the account is created, in the same transaction.
 */
export async function findOrCreatePersonByEmail(
  email: string,
  socialProvider: string,
  { firstName = '', language = 'en', referralClick = null }: NewPersonDetails = {},
  outerTransaction?: Transaction,
): Promise<Person> {
  const address = email.toLowerCase();
  const found = await Person.query(outerTransaction).findOne({ email: address });
  if (found !== undefined) return found;
  const referrer = referralClick === null ? null : await findReferrer(referralClick, address, outerTransaction);
  const insertPerson = async (transaction: Transaction) => {
    // Two simultaneous first sign-ins both insert; the unique address accepts one.
    const inserted = await Person.query(transaction)
      .insert({
        uuid: uuidv7(),
        email: address,
        first_name: firstName,
        language,
        social_provider: socialProvider,
        created_at: now(),
      })
      .onConflict('email')
      .ignore();
    // The insert that was ignored returns no id.
    if ((inserted.id as number | undefined) === undefined) return;
    const person = await Person.query(transaction).findById(inserted.id).throwIfNotFound();
    const { account_id: accountId } = await openAccount(transaction, person);
    if (referralClick === null || referrer === null) return;
    await Referral.query(transaction).insert({
      account_id: accountId,
      affiliate_id: referrer,
      clicked_at: referralClick.clickedAt,
      network: referralClick.network,
      created_at: now(),
    });
  };
  await (outerTransaction === undefined ? Account.transaction(insertPerson) : insertPerson(outerTransaction));
  return Person.query(outerTransaction).findOne({ email: address }).throwIfNotFound();
}

/** Opens an account that a person owns. */
async function openAccount(transaction: Transaction, person: Person): Promise<Member> {
  const { id, uuid } = await Account.query(transaction).insert({
    uuid: uuidv7(),
    ...pickOwnerColumns(person),
    member_count: 1,
    created_at: now(),
  });
  const member = { account_id: id, number: 1, uuid: uuidv7(), person_id: person.id, role: 'owner', created_at: now() };
  const owner = await Member.query(transaction).insertAndFetch(member as Partial<Member>);
  await recordEvent(transaction, { accountId: id, type: 'account.created', subject: uuid });
  return owner;
}

/**
 * Returns the membership that a sign-in opens: of the account that the person switched to last, else of an own
 * one. Those that are suspended or being deleted come last. A person who has left all accounts gets a new one.
 * @throws ServiceError not_found if the person was erased.
 */
export async function chooseMembership(transaction: Transaction, personId: number): Promise<Member> {
  const chosen = await Member.query(transaction)
    .joinRaw('JOIN accounts a ON a.id = members.account_id JOIN people p ON p.id = members.person_id')
    .where('members.person_id', personId)
    .whereNull('members.removed_at')
    .select('members.*')
    .orderByRaw(
      `a.suspended_at IS NOT NULL, a.deletion_requested_at IS NOT NULL,
       a.id IS DISTINCT FROM p.current_account_id, members.role <> 'owner', members.created_at, a.id`,
    )
    .first();
  if (chosen !== undefined) return chosen;
  const person = await Person.query(transaction).findById(personId).forNoKeyUpdate().throwIfNotFound();
  if (person.erased_at !== null) throw erasedError();
  return openAccount(transaction, person);
}

export function erasedError(): ServiceError {
  return new ServiceError('not_found', 'Not found. The account was deleted: sign in again.');
}

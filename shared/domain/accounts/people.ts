import type { Transaction } from 'objection';
import { Account } from '../../tables/Account.ts';
import { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import type { Caller } from './caller.ts';

/**
 * People, who sign in and are members of accounts. Transactions lock accounts, in the order of their ids, before
 * people. See docs/adr/0017-people-and-members.md.
 */

/** Columns of a person that the accounts that it owns show as their own. */
type OwnerColumns = Pick<Person, 'email' | 'first_name' | 'language' | 'use_case' | 'social_provider'>;

/** Returns the columns of an account that are copied from its owner. */
export function pickOwnerColumns({ email, first_name, language, use_case, social_provider }: Person): OwnerColumns {
  return { email, first_name, language, use_case, social_provider };
}

/**
 * Finds the person behind a session, or who made a key or approved an application. Undefined: the service, or test
 * mode.
 */
export async function findPersonOfCaller(
  { accountId, member }: Pick<Caller, 'accountId' | 'member'>,
  transaction?: Transaction,
): Promise<Person | undefined> {
  if (member === undefined) return undefined;
  const membership = Member.query(transaction).findById([accountId, member.number]).select('person_id');
  return Person.query(transaction).findOne('id', membership);
}

/** Finds the person behind a session. */
export async function getPerson(caller: Pick<Caller, 'accountId' | 'member'>): Promise<Person> {
  const person = await findPersonOfCaller(caller);
  if (person === undefined)
    throw new Error('The caller is not a person: the route takes other credentials than sessions.');
  return person;
}

/** Fields of an event that address its message to a person. Without them it goes to the owner of the account. */
export interface Recipient {
  recipient_email: string;
  recipient_name: string;
  recipient_language: string;
}

/**
 * Addresses a message about a member to that member, also if it owns the account, which may be handed over meanwhile.
 */
export async function describeRecipient(
  transaction: Transaction,
  { person_id: personId }: Pick<Member, 'person_id'>,
): Promise<Recipient> {
  const { email, first_name: name, language } = await Person.query(transaction).findById(personId).throwIfNotFound();
  return { recipient_email: email, recipient_name: name, recipient_language: language };
}

/** Finds the owner of an account; undefined if it was erased, or is a test account. */
export async function findOwner(accountId: number, transaction?: Transaction): Promise<Person | undefined> {
  const member = Member.query(transaction).findOne({ account_id: accountId, role: 'owner' }).whereNull('removed_at');
  return Person.query(transaction).findOne('id', member.select('person_id'));
}

/** A person with the accounts of which it is a member, all locked until the end of the transaction. */
export interface LockedPerson {
  person: Person;
  /** The oldest first. Empty for a person who has left all accounts. */
  members: Member[];
  accounts: Account[];
}

/**
 * Locks the accounts of which a person is a member, and the person.
 * @param joinedId a further account, which the person becomes a member of.
 */
export async function lockPerson(
  transaction: Transaction,
  personId: number,
  joinedId: number | null = null,
): Promise<LockedPerson> {
  const own = () => Member.query(transaction).where({ person_id: personId }).whereNull('removed_at');
  const accounts = await Account.query(transaction)
    .whereIn('id', own().select('account_id'))
    .orWhere({ id: joinedId })
    .orderBy('id')
    .forNoKeyUpdate();
  const person = await Person.query(transaction).findById(personId).forNoKeyUpdate().throwIfNotFound();
  const locked = accounts.map(({ id }) => id);
  return { person, members: await own().whereIn('account_id', locked).orderBy('created_at'), accounts };
}

/** Changes a locked person, and the copies in the accounts that it owns. */
export async function patchPerson(
  transaction: Transaction,
  { person, members }: Pick<LockedPerson, 'person' | 'members'>,
  change: Partial<OwnerColumns>,
): Promise<Person> {
  const owned = members.filter(({ role }) => role === 'owner').map(({ account_id: id }) => id);
  // Not to an account that was erased in the meantime.
  await Account.query(transaction).whereIn('id', owned).whereNull('erased_at').patch(change);
  return person.$query(transaction).patchAndFetch(change);
}

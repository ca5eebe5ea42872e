import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { Identity } from '../../tables/Identity.ts';
import { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import { Session } from '../../tables/Session.ts';

/**
 * Erases a person who is not a member of any account any more: address, profile and sign-in methods. The transaction
 * has locked the account that the person left last. One that erases several people does so in the order of their ids:
 * others lock the same people.
 */
export async function erasePersonWithoutAccount(transaction: Transaction, personId: number): Promise<void> {
  // Locked before the memberships are read: of two accounts that a person leaves at once, the second erases.
  const person = await Person.query(transaction).findById(personId).forNoKeyUpdate().throwIfNotFound();
  const member = await Member.query(transaction).findOne({ person_id: personId }).whereNull('removed_at');
  if (member !== undefined || person.erased_at !== null) return;
  // Locked before its sessions are deleted: a concurrent sign-in with it fails.
  await Identity.query(transaction).where({ person_id: personId }).forUpdate();
  await Session.query(transaction).delete().where({ person_id: personId });
  await Identity.query(transaction).delete().where({ person_id: personId });
  await person.$query(transaction).patch({
    email: `erased-${person.uuid}@erased.invalid`,
    first_name: '',
    language: 'en',
    use_case: '',
    social_provider: 'erased',
    staff_since: null,
    current_account_id: null,
    erased_at: now(),
  });
}

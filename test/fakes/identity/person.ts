import { randomUUID } from 'node:crypto';

/** A person with an account at the fake providers. */
export interface FakePerson {
  subject: string;
  email: string;
  isVerified: boolean;
  firstName: string;
}

/** Creates a new person with a random subject and address. */
export function createPerson(changes: Partial<FakePerson> = {}): FakePerson {
  const id = randomUUID();
  return { subject: id, email: `${id}@example.com`, isVerified: true, firstName: 'Ada', ...changes };
}

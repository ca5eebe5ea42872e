import { randomUUID } from 'node:crypto';

/** Somebody whom the stand-ins know. */
export interface Person {
  subject: string;
  email: string;
  isVerified: boolean;
  firstName: string;
}

/** Somebody new, whom nobody has seen before. */
export function newPerson(changes: Partial<Person> = {}): Person {
  const id = randomUUID();
  return { subject: id, email: `${id}@example.com`, isVerified: true, firstName: 'Ada', ...changes };
}

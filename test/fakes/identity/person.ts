import { randomUUID } from 'node:crypto';

/** Somebody whom the stand-ins know. */
export interface FakePerson {
  subject: string;
  email: string;
  isVerified: boolean;
  firstName: string;
}

/** Somebody new, whom nobody has seen before. */
export function createPerson(changes: Partial<FakePerson> = {}): FakePerson {
  const id = randomUUID();
  return { subject: id, email: `${id}@example.com`, isVerified: true, firstName: 'Ada', ...changes };
}

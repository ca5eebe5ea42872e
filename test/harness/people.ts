import type { Caller } from '../../shared/domain/accounts/caller.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import type { TestCustomer } from './apiClient.ts';
import type { TestService } from './testService.ts';

/** Changes a person, and the account that it owns. */
export async function changeOwner(
  service: Pick<TestService, 'sql'>,
  email: string,
  column: 'email' | 'language',
  value: string,
): Promise<void> {
  await service.sql(
    `WITH person AS (UPDATE people SET ${column} = $2 WHERE email = $1)
     UPDATE accounts SET ${column} = $2 WHERE email = $1`,
    [email, value],
  );
}

/** The caller of the session of a customer who owns an account. */
export const buildOwnerCaller = (accountId: number | string, { cookie }: TestCustomer): Caller => ({
  accountId: Number(accountId),
  credential: { kind: 'session', hash: sha256(cookie.split('=')[1] as string) },
  member: { number: 1, role: 'owner' },
});

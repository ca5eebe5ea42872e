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

import type { Queryable, Violation } from '../../shared/domain/invariant.ts';

/** Lists the commits after which the use of a spending limit was wrong, also if the window is over by now. */
export async function findWrongWindows(client: Queryable): Promise<Violation[]> {
  const { rows } = await client.query('SELECT account::text AS account, detail FROM chaos.wrong_windows');
  return (rows as { account: string; detail: string }[]).map(({ account, detail }) => ({
    invariant: 'windows-match-at-every-commit',
    statement:
      'After every commit, the use of a spending limit equals the cost of the generations that were charged in its window, less their refunds.',
    accountId: account,
    subject: detail,
    detail,
  }));
}

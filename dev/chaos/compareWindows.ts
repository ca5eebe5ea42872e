import type { Queryable, Violation } from '../../shared/domain/invariant.ts';

const STATEMENTS = {
  'windows-match-at-every-commit':
    'After every commit, the use of a spending limit equals the cost of the generations that were charged in its window, less their refunds.',
  'charges-keep-limits': 'No charge raises the use of a spending limit above the limit.',
} as const;

/** Lists the changes after which the use of a spending limit was wrong, also if the window is over by now. */
export async function findWrongWindows(client: Queryable): Promise<Violation[]> {
  const { rows } = await client.query('SELECT account::text AS account, invariant, detail FROM chaos.wrong_windows');
  return (rows as { account: string; invariant: keyof typeof STATEMENTS; detail: string }[]).map(
    ({ account, invariant, detail }) => ({
      invariant,
      statement: STATEMENTS[invariant],
      accountId: account,
      subject: detail,
      detail,
    }),
  );
}

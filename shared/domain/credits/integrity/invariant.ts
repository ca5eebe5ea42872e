/** What must be true of our database, whatever happened to the processes that wrote it. */
export interface Invariant {
  /** Short, in kebab case: `balance-is-the-ledger`. */
  name: string;
  /** A sentence. */
  statement: string;
  /** Whether it holds at every moment of the database, or only once all that is under way has settled. */
  checkedWhen: 'always' | 'when settled';
  /**
   * Finds what breaks it: rows of account_id (bigint or null), subject (text) and detail (text). May refer to $1: now,
   * as a timestamptz, by the service's clock.
   */
  query: string;
}

export interface Violation {
  invariant: string;
  statement: string;
  accountId: string | null;
  subject: string;
  detail: string;
}

/** A connection to Postgres, such as a client of `pg`: one session, so that its statements share a transaction. */
export interface Queryable {
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

/** Two moments that different processes wrote down may be out of order by so much: their clocks differ. */
export const CLOCK_SKEW_INTERVAL = `interval '2 minutes'`;

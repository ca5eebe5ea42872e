/** A condition that always holds in the database, whatever happened to the processes that wrote it. */
export interface Invariant {
  /** Short name in kebab case, such as `balance-is-the-ledger`. */
  name: string;
  /** One sentence that states the condition. */
  statement: string;
  /** Holds in every snapshot of the database, or only once no work is in progress. */
  checkedWhen: 'always' | 'when drained';
  /**
   * Query that finds the violations: rows of account_id (bigint or null), subject (text) and detail (text). May refer
   * to $1, the current time of the service's clock as a timestamptz.
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

/** One session of Postgres, such as a client of `pg`, so that its statements can share a transaction. */
export interface Queryable {
  // oxlint-disable-next-line typescript/no-explicit-any -- as in the types of `pg`
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

/** Tolerance for timestamps of different processes, whose clocks differ. */
export const CLOCK_SKEW_INTERVAL = `interval '2 minutes'`;

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { SqlFunction } from '../../shared/lib/database/sqlFunctions.ts';
import { createDatabase } from './databases.ts';
import { eventually } from './testService.ts';

export type Row = Record<string, any>;

/** Current time in tests of functions of the database. */
export const NOW = new Date('2037-03-15T12:00:00Z');

/** Returns {@link NOW}, or this many milliseconds after it. */
export const after = (ms: number): Date => new Date(NOW.getTime() + ms);

export const DAY_MS = 24 * 3_600_000;

/** A migrated database for tests that call functions directly, with rows that they write themselves. */
export class FunctionDatabase {
  client!: pg.Client;
  /** A second connection, for locks. */
  other!: pg.Client;

  async open(): Promise<void> {
    const connection = await createDatabase();
    [this.client, this.other] = [new pg.Client(connection), new pg.Client(connection)];
    await Promise.all([this.client.connect(), this.other.connect()]);
    await Promise.all([this.client, this.other].map((each) => each.query(`SET lock_timeout = '300ms'`)));
  }

  async close(): Promise<void> {
    await Promise.all([this.client.end(), this.other.end()]);
  }

  async query<Found = Row>(text: string, values: unknown[] = []): Promise<Found[]> {
    return (await this.client.query(text, values)).rows as Found[];
  }

  /** Inserts a row without the rows that it refers to, and without triggers. */
  async insert(table: string, row: Row): Promise<Row> {
    const names = Object.keys(row);
    const places = names.map((_, index) => `$${index + 1}`);
    await this.client.query('SET session_replication_role = replica');
    const [written] = await this.query(
      `INSERT INTO ${table} (${names.join(', ')}) OVERRIDING SYSTEM VALUE VALUES (${places.join(', ')}) RETURNING *`,
      Object.values(row),
    );
    await this.client.query('SET session_replication_role = origin');
    return written as Row;
  }

  /** Inserts an account. @returns its id. */
  async account(row: Row = {}): Promise<number> {
    const uuid = randomUUID();
    const { id } = await this.insert('accounts', {
      uuid,
      email: `${uuid}@example.com`,
      social_provider: 'dev',
      onboarding_step: 'complete',
      created_at: NOW,
      ...row,
    });
    return Number(id);
  }

  /** Rows of an account in the order of all of their columns. */
  async rows(table: string, account: number, columns: string): Promise<Row[]> {
    const found = await this.query(`SELECT ${columns} FROM ${table} WHERE account_id = $1 ORDER BY ${columns}`, [
      account,
    ]);
    return found.map(toNumbers);
  }

  async readAccount(id: number, columns: string): Promise<Row> {
    const [row] = await this.query(`SELECT ${columns} FROM accounts WHERE id = $1`, [id]);
    return toNumbers(row as Row);
  }

  /** Calls a function with arguments in their order. */
  async call(fn: SqlFunction, args: unknown[], client = this.client): Promise<Row[]> {
    const places = args.map((_, index) => `$${index + 1}`);
    const { rows } = await client.query<Row>(`SELECT * FROM ${fn.installedName}(${places.join(', ')})`, args);
    return rows.map(toNumbers);
  }

  /** Runs `inside` while the other connection holds what a statement has locked. */
  async whileLocked<Result>(text: string, values: unknown[], inside: () => Promise<Result>): Promise<Result> {
    await this.other.query('BEGIN');
    try {
      await this.other.query(text, values);
      return await inside();
    } finally {
      await this.other.query('ROLLBACK');
    }
  }

  /** Runs `meanwhile` once a call waits for a lock of the other connection. */
  async whileWaiting<Result>(call: () => Promise<Result>, meanwhile: () => Promise<unknown>): Promise<Result> {
    await this.client.query(`SET lock_timeout = '10s'`);
    const called = call();
    const isWaiting = async () => {
      const { rowCount } = await this.other.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    };
    await eventually('the call waits for a lock', isWaiting);
    await meanwhile();
    const result = await called;
    await this.client.query(`SET lock_timeout = '300ms'`);
    return result;
  }

  /**
   * Returns whether a call that waits for the lock on a row has not locked another one yet.
   * @param lock locks the row with the key $1 unless it is locked.
   */
  async isLockedFirst(first: unknown, second: unknown, lock: string, call: () => Promise<unknown>): Promise<boolean> {
    let isFree = false;
    // In the order of the table, in which the second row may come first.
    await this.client.query('SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off');
    await this.other.query('BEGIN');
    await this.other.query(lock, [first]);
    await this.whileWaiting(call, async () => {
      isFree = (await this.other.query(lock, [second])).rowCount === 1;
      await this.other.query('ROLLBACK');
    });
    await this.client.query('RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_indexonlyscan');
    return isFree;
  }

  /**
   * Returns the locks on rows that a call holds until the end of its transaction, as the other connection meets them.
   */
  async isLockedBy(call: () => Promise<unknown>, attempt: string, values: unknown[]): Promise<boolean> {
    await this.client.query('BEGIN');
    try {
      await call();
      return await this.other.query(attempt, values).then(
        ({ rowCount }) => rowCount === 0,
        (error: { code?: string }) => {
          if (error.code === '55P03') return true;
          throw error;
        },
      );
    } finally {
      await this.client.query('ROLLBACK');
    }
  }
}

/** Numbers of Postgres that arrive as texts. */
function toNumbers(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value,
    ]),
  );
}

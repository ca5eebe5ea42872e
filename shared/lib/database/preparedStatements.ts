import type { Knex } from 'knex';
import type { Client } from 'pg';
import { repeatOnDeadlock } from './repeatOnDeadlock.ts';
import { closeIfOverdue, db } from './pool.ts';
import { traceStatement } from './tracedQueries.ts';

/** Values for the `:name` parameters of a statement. */
export type Bindings = Record<string, unknown>;

export interface Statement {
  /** Name of the prepared statement on each connection. */
  name: string;
  /** Text with `$1`, `$2`, … in the place of the names. */
  text: string;
  /** Names of the parameters, in the order of their numbers. */
  parameters: string[];
}

/** A quoted string or a cast, which contain no parameters; or the name of a parameter. */
const PARAMETER = /'[^']*'|::|:([a-z]\w*)/gi;

/**
 * Declares a statement that is prepared once per connection: about 2.5 times as fast as sending its text each time.
 * A parameter that occurs several times is sent once, so it has the same type in all places.
 */
export function prepared(name: string, sql: string): Statement {
  const parameters: string[] = [];
  const text = sql.replace(PARAMETER, (match, parameter: string | undefined) => {
    if (parameter === undefined) return match;
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  return { name, text, parameters };
}

/**
 * Writes an array parameter in a form that hides its length from the planner, for frequent statements. Postgres plans a
 * statement again each time while that promises to be cheaper than its plan for all values, which assumes ten elements:
 * for each smaller batch, and planning costs more than such a batch.
 */
export const writeArray = (parameter: string, type: string): string =>
  `ARRAY (SELECT unnest(cast(:${parameter} AS ${type}[])))`;

/** Members of knex's client, which it does not declare. */
interface ConnectionSource {
  acquireConnection(): Promise<Client>;
  releaseConnection(connection: Client): Promise<void>;
}

/**
 * Runs a prepared statement and returns its rows. It is sent by the driver itself, on a connection of knex's pool or of
 * the transaction: knex would parse and copy the text each time, which costs more than the rest of the call.
 *
 * Outside of a transaction it is repeated once after a deadlock. Postgres ends any of the transactions that wait, also
 * one that only queues for a row of two others.
 */
export async function runStatement<Row>(
  { name, text, parameters }: Statement,
  bindings: Bindings,
  within: Knex | Knex.Transaction = db,
): Promise<Row[]> {
  const values = parameters.map((parameter) => {
    const value = bindings[parameter];
    // The driver would send null.
    if (value === undefined) throw new Error(`Parameter ${parameter} of the statement ${name} has no value.`);
    return value;
  });
  const client = within.client as ConnectionSource;
  const connection = await client.acquireConnection();
  try {
    // The connection of a transaction that has ended may serve another one by now.
    if ('isCompleted' in within && within.isCompleted()) throw new Error(`${name}: the transaction has ended.`);
    const send = () => traceStatement(name, () => connection.query({ name, text, values }));
    const result = await (within === db ? repeatOnDeadlock(name, send) : send());
    return result.rows as Row[];
  } catch (error) {
    closeIfOverdue(connection, error);
    throw error;
  } finally {
    await client.releaseConnection(connection);
  }
}

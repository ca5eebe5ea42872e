import pg from 'pg';
import { serveParent } from '../childProcess.ts';
import { captureChargeStatement } from './chargeStatement.ts';
import { type LoopClient, runLoop } from './closedLoop.ts';

/** The charge without a service: database clients that only run the statement, as pgbench would. */
const charge = await captureChargeStatement();
const connections: pg.Client[] = [];
let sent = 0;

async function getDatabaseConnections(count: number): Promise<pg.Client[]> {
  while (connections.length < count) {
    const connection = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
    await connection.connect();
    connections.push(connection);
  }
  return connections.slice(0, count);
}

function createStatementClient(connection: pg.Client, accounts: number[]): LoopClient {
  const { name, text } = charge;
  const send = (account: number, waits: boolean, done: Parameters<LoopClient>[0]): void => {
    connection.query({ name, text, values: charge.valuesFor(account, waits) }, (error: Error | undefined, result) => {
      if (error) return done(error);
      const rows = result.rows as { outcome?: string }[];
      // Another client has the account. The service waits then, too.
      if (rows.length === 0 && !waits) return send(account, true, done);
      return done(rows[0]?.outcome === 'accepted' ? null : new Error(`Not accepted: ${JSON.stringify(rows)}.`));
    });
  };
  return (done) => send(accounts[sent++ % accounts.length] as number, false, done);
}

serveParent({
  run: async (clients: number, durationMs: number, accounts: number[]) => {
    const open = await getDatabaseConnections(clients);
    return runLoop(
      open.map((connection) => createStatementClient(connection, accounts)),
      durationMs,
    );
  },
});

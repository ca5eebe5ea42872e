import pg from 'pg';

/** Returns the address of another database on the same server. */
export function withDatabaseName(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Opens a connection. A lost one fails the next query instead of the process. */
export async function connectTo(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Runs statements, one after the other, on a connection of their own. */
export async function executeStatements(databaseUrl: string, ...statements: string[]): Promise<void> {
  const client = await connectTo(databaseUrl);
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Creates a database on a server, with `options` such as a template. @returns its address. */
export async function createDatabase(serverUrl: string, name: string, options = ''): Promise<string> {
  await executeStatements(withDatabaseName(serverUrl, 'postgres'), `CREATE DATABASE ${name} ${options}`);
  return withDatabaseName(serverUrl, name);
}

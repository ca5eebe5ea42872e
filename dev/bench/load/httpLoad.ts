import { serveParent } from '../childProcess.ts';
import { type LoopClient, type ClosedLoop, runLoop, startLoop } from './closedLoop.ts';
import { type HttpConnection, openHttpConnection } from './connection.ts';
import { runOpenLoop } from './openLoop.ts';

/** Prepared requests to one server, sent in rotation; each must return the same status. */
export interface PreparedRequests {
  name: string;
  port: number;
  expect: number;
  requests: string[];
}

interface Preparation extends Omit<PreparedRequests, 'requests'> {
  requests: Buffer[];
  sent: number;
  connections: HttpConnection[];
}

const prepared = new Map<string, Preparation>();
let running: ClosedLoop | undefined;

function prepare({ requests, ...rest }: PreparedRequests): void {
  prepared.set(rest.name, { ...rest, requests: requests.map((text) => Buffer.from(text)), sent: 0, connections: [] });
}

function getPlan(name: string): Preparation {
  const plan = prepared.get(name);
  if (plan === undefined) throw new Error(`There are no requests named ${name}.`);
  return plan;
}

async function getClients(name: string, count: number): Promise<LoopClient[]> {
  const plan = getPlan(name);
  while (plan.connections.length < count) plan.connections.push(await openHttpConnection(plan.port));
  return plan.connections.slice(0, count).map((connection) => (done) => send(plan, connection, done));
}

function send(plan: Preparation, connection: HttpConnection, done: (error: Error | null) => void): void {
  const request = plan.requests[plan.sent % plan.requests.length] as Buffer;
  plan.sent += 1;
  connection.exchange(request, (error, status, body) => {
    if (error === null && status === plan.expect) done(null);
    else
      done(error ?? new Error(`${plan.name}: ${status} instead of ${plan.expect}: ${body.toString().slice(0, 300)}`));
  });
}

/**
 * Sends one request to each target in turn, many times over: the fairest way to compare times. @returns the times of
 * each target in ms.
 */
async function alternate(names: string[], times: number): Promise<number[][]> {
  const clients = await Promise.all(names.map(async (name) => (await getClients(name, 1))[0] as LoopClient));
  const latencies: number[][] = names.map(() => []);
  for (let time = 0; time < times; time += 1) {
    for (const [index, client] of clients.entries()) {
      const startedAt = performance.now();
      await new Promise<void>((resolve, reject) => client((error) => (error === null ? resolve() : reject(error))));
      latencies[index]!.push(performance.now() - startedAt);
    }
  }
  return latencies;
}

serveParent({
  prepare,
  alternate,
  run: async (name: string, clients: number, durationMs: number) =>
    runLoop(await getClients(name, clients), durationMs),
  runOpen: async (name: string, perSecond: number, durationMs: number) => {
    const plan = getPlan(name);
    const open = () => openHttpConnection(plan.port);
    return runOpenLoop(perSecond, durationMs, plan.connections, open, (connection, done) =>
      send(plan, connection, done),
    );
  },
  start: async (name: string, clients: number, allowed: number) => {
    running = startLoop(await getClients(name, clients), allowed);
  },
  allow: (total: number) => running?.allow(total),
  stop: () => running?.stop(),
});

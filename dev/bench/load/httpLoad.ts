import { serveParent } from '../childProcess.ts';
import { type LoopClient, type ClosedLoop, runLoop, startLoop } from './closedLoop.ts';
import { REQUEST_NUMBER } from '../httpRequests.ts';
import { type HttpConnection, openHttpConnection } from './connection.ts';
import { runOpenLoop } from './openLoop.ts';

/**
 * Prepared requests to one server, sent in rotation; each must return the same status. `REQUEST_NUMBER`, at the same place
 * in all of them, is replaced by the number of the request.
 */
export interface PreparedRequests {
  name: string;
  port: number;
  expect: number;
  requests: string[];
}

interface Preparation extends Omit<PreparedRequests, 'requests'> {
  requests: Buffer[];
  /** Offset of the request's number; -1 without one. */
  numberAt: number;
  sent: number;
  connections: HttpConnection[];
}

const prepared = new Map<string, Preparation>();
let running: ClosedLoop | undefined;

function prepare({ requests, ...rest }: PreparedRequests): void {
  const numberAt = requests[0]!.indexOf(REQUEST_NUMBER);
  const bytes = requests.map((text) => Buffer.from(text));
  prepared.set(rest.name, { ...rest, requests: bytes, numberAt, sent: 0, connections: [] });
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
  if (plan.numberAt >= 0) request.write(String(plan.sent).padStart(REQUEST_NUMBER.length, '0'), plan.numberAt);
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

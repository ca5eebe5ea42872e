import { answerParent } from '../child.ts';
import { type Client, type Loop, runLoop, startLoop } from './closedLoop.ts';
import { type Connection, openConnection } from './connection.ts';

/** Prepared requests to one server, which are sent in turn; each must be answered with the same status. */
export interface Requests {
  name: string;
  port: number;
  expect: number;
  requests: string[];
}

interface Prepared extends Omit<Requests, 'requests'> {
  requests: Buffer[];
  sent: number;
  connections: Connection[];
}

const prepared = new Map<string, Prepared>();
let running: Loop | undefined;

function prepare({ requests, ...rest }: Requests): void {
  prepared.set(rest.name, { ...rest, requests: requests.map((text) => Buffer.from(text)), sent: 0, connections: [] });
}

async function clientsOf(name: string, count: number): Promise<Client[]> {
  const plan = prepared.get(name);
  if (plan === undefined) throw new Error(`No requests are called ${name}.`);
  while (plan.connections.length < count) plan.connections.push(await openConnection(plan.port));
  return plan.connections.slice(0, count).map((connection) => (done) => send(plan, connection, done));
}

function send(plan: Prepared, connection: Connection, done: (error: Error | null) => void): void {
  const request = plan.requests[plan.sent % plan.requests.length] as Buffer;
  plan.sent += 1;
  connection.exchange(request, (error, status, body) => {
    if (error === null && status === plan.expect) done(null);
    else
      done(error ?? new Error(`${plan.name}: ${status} instead of ${plan.expect}: ${body.toString().slice(0, 300)}`));
  });
}

/** One request to each in turn, many times over: the fairest way to compare times. @returns each one's times in ms. */
async function alternate(names: string[], times: number): Promise<number[][]> {
  const clients = await Promise.all(names.map(async (name) => (await clientsOf(name, 1))[0] as Client));
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

answerParent({
  prepare,
  alternate,
  run: async (name: string, clients: number, durationMs: number) => runLoop(await clientsOf(name, clients), durationMs),
  start: async (name: string, clients: number, allowed: number) => {
    running = startLoop(await clientsOf(name, clients), allowed);
  },
  allow: (total: number) => running?.allow(total),
  stop: () => running?.stop(),
});

import { createHmac } from 'node:crypto';
import { serveParent } from '../childProcess.ts';
import { REQUEST_NUMBER, STRIPE_SIGNATURE } from '../httpRequests.ts';
import { HttpConnection } from './connection.ts';
import { Loop, type LoopClient, type LoopResult, runLoop } from './loop.ts';

/**
 * Prepared requests to one server, sent in rotation; each must return the same status. `REQUEST_NUMBER`, at the same
 * place in all of them, is replaced by the number of the request.
 */
export interface PreparedRequests {
  name: string;
  port: number;
  /** Default: 200. */
  expect?: number;
  requests: string[];
  /** Signs each request as Stripe does, in place of `STRIPE_SIGNATURE`. */
  stripeSecret?: string;
}

interface Plan extends Required<Omit<PreparedRequests, 'requests' | 'stripeSecret'>> {
  templates: Buffer[];
  /** Replaces the placeholders of a request. */
  complete: (template: Buffer, number: number) => Buffer;
  sent: number;
  done: number;
  connections: HttpConnection[];
}

/** Requests in progress at a time at a constant rate, as a balancer limits them (docs/load-balancing.md). */
const MAX_CONNECTIONS = 128;

const plans = new Map<string, Plan>();
let running: Loop | undefined;

function prepare({ name, port, expect = 200, requests, stripeSecret }: PreparedRequests): void {
  const [first = ''] = requests;
  const [numberAt, signatureAt] = [first.indexOf(REQUEST_NUMBER), first.indexOf(STRIPE_SIGNATURE)];
  const bodyAt = first.indexOf('\r\n\r\n') + 4;
  const complete = (template: Buffer, number: number): Buffer => {
    const request = Buffer.from(template);
    request.write(String(number).padStart(REQUEST_NUMBER.length, '0'), numberAt);
    if (stripeSecret === undefined) return request;
    const time = Math.floor(Date.now() / 1_000);
    const hmac = createHmac('sha256', stripeSecret).update(`${time}.`).update(request.subarray(bodyAt));
    request.write(`t=${time},v1=${hmac.digest('hex')}`, signatureAt);
    return request;
  };
  const templates = requests.map((text) => Buffer.from(text));
  const plan = { name, port, expect, templates, sent: 0, done: 0, connections: [] };
  plans.set(name, { ...plan, complete: numberAt < 0 ? (template) => template : complete });
}

function send(plan: Plan, connection: HttpConnection, done: (error: Error | null) => void): void {
  const template = plan.templates[plan.sent % plan.templates.length] as Buffer;
  plan.sent += 1;
  connection.exchange(plan.complete(template, plan.sent), (error, status, body) => {
    if (error === null && status !== plan.expect)
      error = new Error(`${plan.name}: ${status} instead of ${plan.expect}: ${body.toString().slice(0, 300)}`);
    if (error !== null) return done(error);
    plan.done += 1;
    done(null);
  });
}

async function getClients(name: string, count: number): Promise<LoopClient[]> {
  const plan = plans.get(name);
  if (plan === undefined) throw new Error(`There are no requests named ${name}.`);
  while (plan.connections.length < count) plan.connections.push(await HttpConnection.open(plan.port));
  return plan.connections.slice(0, count).map((connection) => (done) => send(plan, connection, done));
}

const handlers = {
  prepare,
  /** Clients that each send their next request when the last one is answered. */
  run: async (name: string, clients: number, durationMs: number): Promise<LoopResult> =>
    runLoop(await getClients(name, clients), durationMs),
  /** Requests at a constant rate; those that find no free connection wait, and their time counts. */
  runAtRate: async (name: string, perSecond: number, durationMs: number): Promise<LoopResult> =>
    runLoop(await getClients(name, MAX_CONNECTIONS), durationMs, perSecond),
  start: async (name: string, clients: number, limit: number): Promise<void> => {
    running = new Loop(await getClients(name, clients), { limit });
  },
  allow: (total: number): void => running?.allow(total),
  stop: (): Promise<LoopResult> => running!.stop(),
  /** Counts the creates that all servers, or the one on a port, have accepted. */
  countCreated: (port?: number): number =>
    [...plans.values()]
      .filter((plan) => plan.expect === 201 && (port === undefined || plan.port === port))
      .reduce((sum, plan) => sum + plan.done, 0),
};
export type HttpLoad = typeof handlers;

serveParent(handlers);

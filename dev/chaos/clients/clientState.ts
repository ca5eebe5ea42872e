import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { FakeStripe } from '../../../test/fakes/stripe/fakeStripe.ts';
import type { SeededRandom } from '../../../test/fakes/seededRandom.ts';
import { addViolation, type Rule } from '../rules.ts';
import type { WebhookReceiver } from '../webhookReceiver.ts';
import { type ChaosCustomer, createCustomers } from './customers.ts';
import { createJournal, type Journal } from './journal.ts';

export interface ClientOptions {
  /** Addresses of the API processes. */
  addresses: readonly string[];
  stripe: FakeStripe;
  receiver: Pick<WebhookReceiver, 'buildUrl' | 'messages'>;
  random: SeededRandom;
  /** Number of customers. */
  accounts: number;
  /** Number of clients that act concurrently. */
  clients: number;
  /** Runs a command of `npm run admin`. @returns whether it succeeded. */
  runAdmin(args: string[]): Promise<boolean>;
  /** Current time of the service. */
  now(): Date;
  /** Returns true during a rush; without this function there are none. */
  isRush?(): boolean;
  /** Returns true if the clocks of all processes have agreed since a time of `performance.now`. */
  haveClocksAgreedSince(time: number): boolean;
}

/** State that all clients share. */
export interface ClientState extends ClientOptions {
  journal: Journal;
  agent: Agent;
  customers: readonly ChaosCustomer[];
  /** The service's own origin, by the address of the request. */
  origins: Map<string, string>;
  /** Names of keys that are being created and whose uuids are not known yet. */
  keysInProgress: Set<string>;
  /** Number of restrictions that keys were given. */
  restrictionCount: number;
  stopping: AbortController;
  /** When a client last acted in a rush, as of `performance.now`. */
  lastRushAt: number;
  /** True if only ordinary creates and reads are sent. */
  isCalm: boolean;
}

/** Thrown to abort a client's action: no further request may begin. */
export class StoppedError extends Error {}

export function createClientState(options: ClientOptions): ClientState {
  const stopping = new AbortController();
  // Every waiting client listens to it.
  setMaxListeners(0, stopping.signal);
  return {
    ...options,
    journal: createJournal(options.receiver.messages),
    agent: new Agent({ pipelining: 1, keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 }),
    customers: createCustomers(options.accounts, options.random),
    origins: new Map(),
    keysInProgress: new Set(),
    restrictionCount: 0,
    stopping,
    lastRushAt: -Infinity,
    isCalm: false,
  };
}

/** @throws StoppedError as soon as clients are to stop. */
export async function sleepUnlessStopped({ stopping }: ClientState, milliseconds: number): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal: stopping.signal });
  } catch {
    throw new StoppedError();
  }
}

/** One action of a client, with random numbers of its own. */
export interface Step {
  state: ClientState;
  customer: ChaosCustomer;
  random: SeededRandom;
  /** Unique within a run. */
  name: string;
  /** Number of ids that were generated in this step. */
  ids: number;
}

/** Returns an id that is unique within a run, and the same in each run of a seed. */
export function newStepId(step: Step): string {
  step.ids += 1;
  const hex = Array.from({ length: 4 }, () => step.random.nextBelow(65_536).toString(16).padStart(4, '0')).join('');
  return `${hex}-${step.name}-${step.ids}`;
}

/** Records a violation. */
export function report({ state, customer }: Step, rule: Rule, subject: string, detail: string): void {
  addViolation(state.journal.violations, rule, customer.uuid, subject, detail);
}

/** Runs `work` several times at the same moment, with all addresses in turn. */
export function inParallel<Result>(
  { state: { addresses } }: Step,
  times: number,
  work: (address: string, index: number) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(
    Array.from({ length: times }, (_, index) => work(addresses[index % addresses.length] as string, index)),
  );
}

/** Runs `work` at every address at the same moment. */
export function everywhere<Result>(step: Step, work: (address: string) => Promise<Result>): Promise<Result[]> {
  return inParallel(step, step.state.addresses.length, work);
}

/** Attempts of a client while the outcome of its request is unknown. */
const MAX_ATTEMPTS = 5;

/**
 * Repeats a request until its outcome is known. Only for idempotent requests.
 * @param send sends it; receives the number of the attempt, from 0.
 */
export async function retryUntilKnown<Observed extends { isUnknown: boolean }>(
  step: Step,
  send: (attempt: number) => Promise<Observed>,
): Promise<Observed> {
  for (let attempt = 0; ; attempt += 1) {
    const response = await send(attempt);
    if (!response.isUnknown || attempt + 1 >= MAX_ATTEMPTS) return response;
    await sleepUnlessStopped(step.state, step.random.nextBetween(200, 1_000));
  }
}

/** Waits between two attempts of an action until one succeeds. @returns false after `attempts` of them. */
export async function retryUntilDone(
  { state, random }: Step,
  attempt: () => Promise<boolean>,
  attempts = Infinity,
): Promise<boolean> {
  for (let made = 0; made < attempts; made += 1) {
    if (made > 0) await sleepUnlessStopped(state, random.nextBetween(200, 1_000));
    if (await attempt()) return true;
  }
  return false;
}

import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { FakeStripe } from '../../../test/fakes/stripe/fakeStripe.ts';
import type { SeededRandom } from '../../../test/fakes/seededRandom.ts';
import type { WebhookReceiver } from '../webhookReceiver.ts';
import { type ClientStore, createClientStore } from './clientStore.ts';
import { type ChaosCustomer, createCustomers } from './customers.ts';
import { addViolation, type ClientRule } from './violations.ts';

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
  store: ClientStore;
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
    store: createClientStore(options.receiver.messages),
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
export function reportViolation(
  { state, customer }: Pick<Step, 'state' | 'customer'>,
  rule: ClientRule,
  subject: string,
  detail: string,
): void {
  addViolation(state.store.violations, rule, customer.uuid, subject, detail);
}

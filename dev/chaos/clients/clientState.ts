import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { FakeStripe } from '../../../test/fakes/stripe/fakeStripe.ts';
import type { SeededRandom } from '../../../test/fakes/seededRandom.ts';
import { type ClientStore, createClientStore } from './clientStore.ts';
import { type ChaosCustomer, createCustomers } from './customers.ts';
import { addViolation, type ClientRule } from './violations.ts';

export interface ClientOptions {
  /** The web processes, as clients reach them. */
  addresses: readonly string[];
  stripe: FakeStripe;
  random: SeededRandom;
  /** How many customers there are. */
  accounts: number;
  /** How many of their programs are at work at once. */
  clients: number;
  /** The service's time. */
  now(): Date;
  /** Whether everybody comes at once; never, if it is not given. */
  isRush?(): boolean;
}

/** All that clients know of, and share. */
export interface ClientState extends ClientOptions {
  store: ClientStore;
  agent: Agent;
  customers: readonly ChaosCustomer[];
  /** The origin that the service takes for its own, by the address that it was asked at. */
  origins: Map<string, string>;
  /** The names of keys that are being made: nobody knows their uuids yet. */
  keysInProgress: Set<string>;
  stopping: AbortController;
  /** Whether nothing but ordinary orders and reads are to be sent. */
  isCalm: boolean;
}

/** Ends whatever a client is in the middle of: no request is to be begun any more. */
export class StoppedError extends Error {}

export function createClientState(options: ClientOptions): ClientState {
  const stopping = new AbortController();
  // All that wait listen to it.
  setMaxListeners(0, stopping.signal);
  return {
    ...options,
    store: createClientStore(),
    agent: new Agent({ pipelining: 1, keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 }),
    customers: createCustomers(options.accounts, options.random),
    origins: new Map(),
    keysInProgress: new Set(),
    stopping,
    isCalm: false,
  };
}

/** @throws Stopped as soon as clients are to stop. */
export async function sleepUnlessStopped({ stopping }: ClientState, milliseconds: number): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal: stopping.signal });
  } catch {
    throw new StoppedError();
  }
}

/** What a client does in one go, with numbers of its own. */
export interface Step {
  state: ClientState;
  customer: ChaosCustomer;
  random: SeededRandom;
  /** Occurs once in a run. */
  name: string;
  /** How many ids were made in it. */
  ids: number;
}

/** A word that occurs once in a run, and is the same in a run of the same seed. */
export function newStepId(step: Step): string {
  step.ids += 1;
  const hex = Array.from({ length: 4 }, () => step.random.nextBelow(65_536).toString(16).padStart(4, '0')).join('');
  return `${hex}-${step.name}-${step.ids}`;
}

/** Puts something that ought not to be into the books. */
export function reportViolation(
  { state, customer }: Pick<Step, 'state' | 'customer'>,
  rule: ClientRule,
  subject: string,
  detail: string,
): void {
  addViolation(state.store.violations, rule, customer.uuid, subject, detail);
}

import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { StripeStandIn } from '../../standins/stripe/standIn.ts';
import type { Random } from '../../random.ts';
import { type ClientBooks, openBooks } from './books.ts';
import { type Customer, newCustomers } from './customers.ts';
import { accuse, type Rule } from './violations.ts';

export interface Surroundings {
  /** The web processes, as clients reach them. */
  addresses: readonly string[];
  stripe: StripeStandIn;
  random: Random;
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
export interface World extends Surroundings {
  books: ClientBooks;
  agent: Agent;
  customers: readonly Customer[];
  /** The origin that the service takes for its own, by the address that it was asked at. */
  origins: Map<string, string>;
  /** The names of keys that are being made: nobody knows their uuids yet. */
  keysUnderWay: Set<string>;
  stopping: AbortController;
  /** Whether nothing but ordinary orders and reads are to be sent. */
  isCalm: boolean;
}

/** Ends whatever a client is in the middle of: no request is to be begun any more. */
export class Stopped extends Error {}

export function openWorld(around: Surroundings): World {
  const stopping = new AbortController();
  // All that wait listen to it.
  setMaxListeners(0, stopping.signal);
  return {
    ...around,
    books: openBooks(),
    agent: new Agent({ pipelining: 1, keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 }),
    customers: newCustomers(around.accounts, around.random),
    origins: new Map(),
    keysUnderWay: new Set(),
    stopping,
    isCalm: false,
  };
}

/** @throws Stopped as soon as clients are to stop. */
export async function sleep({ stopping }: World, milliseconds: number): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal: stopping.signal });
  } catch {
    throw new Stopped();
  }
}

/** What a client does in one go, with numbers of its own. */
export interface Turn {
  world: World;
  customer: Customer;
  random: Random;
  /** Occurs once in a run. */
  name: string;
  /** How many ids were made in it. */
  ids: number;
}

/** A word that occurs once in a run, and is the same in a run of the same seed. */
export function newId(turn: Turn): string {
  turn.ids += 1;
  const hex = Array.from({ length: 4 }, () => turn.random.below(65_536).toString(16).padStart(4, '0')).join('');
  return `${hex}-${turn.name}-${turn.ids}`;
}

/** Puts something that ought not to be into the books. */
export function accuseOf(
  { world, customer }: Pick<Turn, 'world' | 'customer'>,
  rule: Rule,
  subject: string,
  detail: string,
): void {
  accuse(world.books.violations, rule, customer.uuid, subject, detail);
}

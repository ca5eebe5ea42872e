import type { Violation } from '../../../shared/domain/invariants/invariant.ts';
import type { ClientBooks } from './books.ts';
import { runArrivals, runClient } from './loop.ts';
import { checkQuiet } from './quiet.ts';
import { openWorld, type Surroundings } from './world.ts';

export { compareBooks } from './compare.ts';
export { compareCharges } from './compareCharges.ts';
export { type ClientBooks, type ClientRequest, countAnswers } from './books.ts';
export type { ClientViolation } from './violations.ts';
export type { Surroundings } from './world.ts';

export interface Clients {
  readonly books: ClientBooks;
  /** From now on ordinary orders and reads only: no payments, no changes of plans and keys, nothing in crowds. */
  calm(): void;
  /** How many of the customers have an account, a key and the plan that they wanted. */
  ready(): number;
  /** Begins no request any more; resolves when those under way have ended. */
  stop(): Promise<void>;
  /**
   * Asks the service once more for what clients were told, when they have stopped and all is quiet: balances in both
   * places, revoked keys at all addresses, outputs, deleted generations. Enters what it finds into the books, too.
   */
  checkQuiet(): Promise<Violation[]>;
}

/** Sets customers to work, who are not easily put off. */
export function startClients(around: Surroundings): Clients {
  const world = openWorld(around);
  const waiting = [...world.customers];
  const arrivals = Array.from({ length: around.clients }, () => runArrivals(world, waiting));
  const clients = Array.from({ length: around.clients }, (_, number) => runClient(world, number));
  const running = Promise.all([...arrivals, ...clients]);
  // Whoever stops them hears of it; until then it is nobody's.
  running.catch(() => {});
  return {
    books: world.books,
    calm: () => {
      world.isCalm = true;
    },
    ready: () => world.customers.filter(({ isReady }) => isReady).length,
    stop: async () => {
      world.stopping.abort();
      try {
        await running;
      } finally {
        await world.agent.close();
      }
    },
    checkQuiet: () => checkQuiet(around, world),
  };
}

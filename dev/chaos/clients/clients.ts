import type { Violation } from '../../../shared/domain/credits/integrity/invariant.ts';
import type { ClientStore } from './clientStore.ts';
import { onboardCustomers, runClientLoop } from './clientLoop.ts';
import { checkDrained } from './drained.ts';
import { createClientState, type ClientOptions } from './clientState.ts';

export { compareClientStore } from './compareWithDatabase.ts';
export { compareAutoTopups } from './compareAutoTopups.ts';
export { type ClientStore, type ClientRequest, countResponses } from './clientStore.ts';
export type { ClientViolation } from './violations.ts';
export type { ClientOptions } from './clientState.ts';

export interface ChaosClients {
  readonly store: ClientStore;
  /** From now on ordinary orders and reads only: no payments, no changes of plans and keys, nothing in crowds. */
  setCalm(): void;
  /** How many of the customers have an account, a key and the plan that they wanted. */
  countReady(): number;
  /** Begins no request any more; resolves when those under way have ended. */
  stop(): Promise<void>;
  /**
   * Asks the service once more for what clients were told, when they have stopped and all is quiet: balances in both
   * places, revoked keys at all addresses, outputs, deleted generations. Enters what it finds into the books, too.
   */
  checkDrained(): Promise<Violation[]>;
}

/** Sets customers to work, who are not easily put off. */
export function startChaosClients(options: ClientOptions): ChaosClients {
  const state = createClientState(options);
  const waiting = [...state.customers];
  const arrivals = Array.from({ length: options.clients }, () => onboardCustomers(state, waiting));
  const clients = Array.from({ length: options.clients }, (_, number) => runClientLoop(state, number));
  const running = Promise.all([...arrivals, ...clients]);
  // Whoever stops them hears of it; until then it is nobody's.
  running.catch(() => {});
  return {
    store: state.store,
    setCalm: () => {
      state.isCalm = true;
    },
    countReady: () => state.customers.filter(({ isReady }) => isReady).length,
    stop: async () => {
      state.stopping.abort();
      try {
        await running;
      } finally {
        await state.agent.close();
      }
    },
    checkDrained: () => checkDrained(options, state),
  };
}

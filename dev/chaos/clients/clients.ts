import { onboardCustomers, runClientLoop } from './clientLoop.ts';
import { type ClientOptions, createClientState } from './clientState.ts';
import { checkDrained } from './drained.ts';
import type { Journal } from './journal.ts';

export interface ChaosClients {
  readonly journal: Journal;
  /** From now on clients send only ordinary creates and reads: no payments, no changes of plans or keys, no bursts. */
  setCalm(): void;
  /** Number of customers that have an account, a key and the plan that they wanted. */
  countReady(): number;
  /** Begins no further request, and resolves when those in progress have ended. */
  stop(): Promise<void>;
  /**
   * Repeats earlier reads after clients have stopped and all work has settled: balances in both places, revoked keys at
   * all addresses, outputs, deleted generations. Adds violations to the journal.
   */
  checkDrained(): Promise<void>;
}

/** Starts clients that retry through faults. */
export function startChaosClients(options: ClientOptions): ChaosClients {
  const state = createClientState(options);
  const waiting = [...state.customers];
  const arrivals = Array.from({ length: options.clients }, () => onboardCustomers(state, waiting));
  const clients = Array.from({ length: options.clients }, (_, number) => runClientLoop(state, number));
  const running = Promise.all([...arrivals, ...clients]);
  // `stop` rethrows a failure; until then it must not be an unhandled rejection.
  running.catch(() => {});
  return {
    journal: state.journal,
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

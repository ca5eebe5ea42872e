import type { WebhookEventType } from '../../../../shared/spec/events.ts';

/** State of an endpoint that a change leads to. */
export interface EndpointState {
  /** Last part of its address. */
  token: string;
  /** Null: all types. */
  events: WebhookEventType[] | null;
  isEnabled: boolean;
  isDeleted: boolean;
}

/** A request that changes an endpoint. The first one creates it. Times are in milliseconds, as of `Date.now`. */
export interface EndpointChange {
  requestedAt: number;
  /** Null: the outcome is unknown. */
  confirmedAt: number | null;
  state: EndpointState;
}

/**
 * Lists the states that an endpoint may have had at some moment of a period; null if it may not have existed. Changes
 * are made one after the other; one of unknown outcome may have taken effect at any time after its request until the
 * next one was confirmed.
 */
export function listPossibleStates(
  changes: readonly EndpointChange[],
  from: number,
  to: number,
): (EndpointState | null)[] {
  const lastBefore = changes.findLastIndex(({ confirmedAt }) => confirmedAt !== null && confirmedAt < from);
  const states = changes
    .slice(Math.max(0, lastBefore))
    .filter(({ requestedAt }) => requestedAt <= to)
    .map(({ state }) => state);
  return lastBefore < 0 ? [null, ...states] : states;
}

/** Returns whether an endpoint receives events in a state; without a type, whether it is enabled. */
export function isSubscribed(state: EndpointState | null, type?: WebhookEventType): boolean {
  if (state === null || !state.isEnabled || state.isDeleted) return false;
  return type === undefined || state.events === null || state.events.includes(type);
}

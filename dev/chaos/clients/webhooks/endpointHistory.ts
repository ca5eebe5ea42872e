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
 * Lists the states that an endpoint may have had at some moment of a period. Changes are made one after the other; one
 * of unknown outcome may have taken effect at any time after its request until the next one was confirmed.
 */
export function listPossibleStates(
  changes: readonly EndpointChange[],
  from: number,
  to: number,
): { states: EndpointState[]; mayBeMissing: boolean } {
  const lastBefore = changes.findLastIndex(({ confirmedAt }) => confirmedAt !== null && confirmedAt < from);
  const states = changes
    .slice(Math.max(0, lastBefore))
    .filter(({ requestedAt }) => requestedAt <= to)
    .map(({ state }) => state);
  return { states, mayBeMissing: lastBefore < 0 };
}

/** Returns whether an endpoint certainly received events of a type during the whole of a period. */
export function isCertainlySubscribed(
  changes: readonly EndpointChange[],
  type: WebhookEventType,
  from: number,
  to: number,
): boolean {
  const { states, mayBeMissing } = listPossibleStates(changes, from, to);
  return !mayBeMissing && states.every((state) => isSubscribed(state, type));
}

/** Returns whether an endpoint may have received events of a type at some moment of a period. */
export function mayBeSubscribed(
  changes: readonly EndpointChange[],
  type: WebhookEventType,
  from: number,
  to: number,
): boolean {
  return listPossibleStates(changes, from, to).states.some((state) => isSubscribed(state, type));
}

/** Returns whether an endpoint certainly existed and was enabled during the whole of a period. */
export function isCertainlyEnabled(changes: readonly EndpointChange[], from: number, to: number): boolean {
  const { states, mayBeMissing } = listPossibleStates(changes, from, to);
  return !mayBeMissing && states.every(({ isEnabled, isDeleted }) => isEnabled && !isDeleted);
}

function isSubscribed({ events, isEnabled, isDeleted }: EndpointState, type: WebhookEventType): boolean {
  return isEnabled && !isDeleted && (events === null || events.includes(type));
}

import type { WebhookEventType } from '../../../../shared/spec/events.ts';
import type { ReceivedMessage } from '../../webhookReceiver.ts';
import type { EndpointChange } from './endpointHistory.ts';

/** Keys of an endpoint that a response contained. */
export interface KnownKeys {
  secret: string;
  publicKey: string;
  /** In milliseconds, as of `Date.now`. */
  confirmedAt: number;
}

/** A webhook endpoint that a client created, or tried to create. Times are in milliseconds, as of `Date.now`. */
export interface ObservedEndpoint {
  accountUuid: string;
  /** Null while the outcome of its creation is unknown. */
  uuid: string | null;
  /** Tokens of all its addresses. */
  tokens: string[];
  /** True if it receives the ends of all generations until the end of the run. */
  isLasting: boolean;
  changes: EndpointChange[];
  /** Oldest first. */
  keys: KnownKeys[];
  /** Times of requests to rotate the keys. */
  rotations: number[];
  /** From here on messages may be signed with keys that no response contained. Null: the keys are known. */
  keysUncertainFrom: number | null;
  /** True while a client changes it: changes are made one after the other. */
  isBusy: boolean;
  /** Earliest time of the next change: an attempt of the last one may still be executed. */
  nextChangeAt: number;
}

/** The recipient of messages with a token. */
export interface WebhookTarget {
  accountUuid: string;
  /** Null: the address is the `webhook_url` of a create. */
  endpoint: ObservedEndpoint | null;
  /** Prompt of that create. */
  prompt: string | null;
}

/** Webhooks that clients requested, and messages that the receiver recorded. */
export interface WebhookStore {
  readonly endpoints: ObservedEndpoint[];
  /** By token. */
  readonly targets: Map<string, WebhookTarget>;
  /** Keys of the default endpoints, by account. */
  readonly defaultKeys: Map<string, KnownKeys>;
  readonly messages: readonly ReceivedMessage[];
  /** Number of messages that the comparison with the database required. */
  required: number;
}

export function createWebhookStore(messages: readonly ReceivedMessage[]): WebhookStore {
  return { endpoints: [], targets: new Map(), defaultKeys: new Map(), messages, required: 0 };
}

export interface WebhookCounts {
  endpoints: number;
  /** Attempts that the receiver read, and those that it accepted. */
  received: number;
  accepted: number;
  /** Messages that had to arrive. */
  required: number;
}

export function countWebhooks({ webhooks }: { webhooks: WebhookStore }): WebhookCounts {
  const { endpoints, messages, required } = webhooks;
  const accepted = messages.filter(({ isAccepted }) => isAccepted).length;
  return { endpoints: endpoints.length, received: messages.length, accepted, required };
}

/** The JSON of a message. */
export interface WebhookBody {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** Parses the JSON of a message; null if it is not the object that webhooks contain. */
export function parseWebhookBody(text: string): WebhookBody | null {
  try {
    const body = JSON.parse(text) as Partial<WebhookBody> | null;
    const isComplete =
      typeof body?.type === 'string' && typeof body.timestamp === 'string' && typeof body.data === 'object';
    return isComplete && body.data !== null ? (body as WebhookBody) : null;
  } catch {
    return null;
  }
}

export const isGenerationEvent = (type: string): type is WebhookEventType => type.startsWith('generation.');

import type { ModelSlug } from '../../../shared/spec/catalog.ts';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import type { ReceivedMessage } from '../webhookReceiver.ts';
import type { ClientViolation } from '../rules.ts';
import type { EndpointChange } from './webhooks/endpointHistory.ts';

/** Kind of the creates with keys that have, or had, a spending limit. */
export const LIMITED_CREATE = 'create with a limit';
/** Kind of the creates of applications, by a tool. */
export const APPLICATION_CALL = 'mcp create of an application';

/** A request and its outcome. */
export interface ClientRequest {
  /** Start time in milliseconds, as of `Date.now`. */
  at: number;
  kind: string;
  address: string;
  status: number | 'cut' | 'timeout';
  /** Error code as in REST, also for an MCP tool error in a response with status 200. */
  code: string | null;
  /** True for a create that is rejected because the outcome of an automatic top-up is unknown. */
  isTopupUnknown: boolean;
  durationMs: number;
}

/** A create, however often it was sent. Times are in milliseconds, as of `performance.now`. */
export interface ObservedCreate {
  prompt: string;
  accountUuid: string;
  model: ModelSlug;
  credits: number;
  /** Possible prices: of each catalog, until a response contains the price. */
  prices: number[];
  pricesByCatalog: Record<string, number>;
  idempotencyKey: string | null;
  /** Time of the first request, by the service's clock. */
  firstSentAt: Date;
  sent: number;
  /** Number of responses that rule out any effect. */
  rejected: number;
  /** Repeated so late that its idempotency key may have expired. */
  isStale: boolean;
  /** Uuids in the responses. */
  uuids: Set<string>;
  /** Last part of its `webhook_url`; null without one. */
  webhookToken: string | null;
  /** Application that sent it; null for a key or a session. */
  clientId: string | null;
  hasImage: boolean;
  /** True if the options of its key do not allow it. */
  isForbidden: boolean;
}

/** A generation that a 201 or a tool result announced. Times as above. */
export interface ObservedGeneration {
  uuid: string;
  accountUuid: string;
  surface: 'REST' | 'MCP';
  prompt: string;
  model: ModelSlug;
  credits: number;
  final: { status: 'succeeded' | 'failed'; outputPath: string | null; at: number } | null;
  isDownloaded: boolean;
  /** Time from which on a client may have deleted it. */
  deleteRequestedAt: number | null;
  /** Time from which on a client may have canceled it. */
  cancelRequestedAt: number | null;
  deletedAt: number | null;
}

/** An API key that a 201 announced. Times as above. */
export interface ObservedKey {
  uuid: string;
  key: string;
  accountUuid: string;
  revokeRequestedAt: number | null;
  revokedAt: number | null;
}

/** A paid page of a top-up. Times in milliseconds, as of `Date.now`. */
interface PaidTopup {
  accountUuid: string;
  sessionId: string;
  amountCents: number;
  at: number;
  /** True if the account began to need credits only after this payment. */
  isAwaited: boolean;
}

/** A create whose response rules out a later charge of a card. Times as above. */
interface RejectedCreate {
  accountUuid: string;
  respondedAt: number;
  prompt: string;
  /** Code and detail. */
  response: string;
}

/** A deletion of an account that its page has acknowledged. */
export interface AccountDeletion {
  accountUuid: string;
  email: string;
  isUndone: boolean;
  /** Customer at the payment processor; null without one. */
  customerId: string | null;
  /** When the request was acknowledged, by the clock of the service. */
  acknowledgedAt: Date;
  /** When the payment processor was seen to have stopped all renewals, by the same clock; null if unknown. */
  stoppedAt: Date | null;
}

/** A grant of credits by staff. */
interface CreditAdjustment {
  accountUuid: string;
  /** Name of the request, which makes it happen once. */
  request: string;
  credits: number;
  /** True if the command reported success; otherwise the outcome is unknown. */
  isConfirmed: boolean;
}

/** Keys of an endpoint that a response contained at a time of `Date.now`. */
export interface KnownKeys {
  secret: string;
  publicKey: string;
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

/** The recipient of messages with a token: an endpoint, or the `webhook_url` of a create with a prompt. */
export interface WebhookTarget {
  accountUuid: string;
  endpoint: ObservedEndpoint | null;
  prompt: string | null;
}

/** Webhooks that clients requested, and messages that the receiver recorded. */
export interface WebhookJournal {
  readonly endpoints: ObservedEndpoint[];
  /** By token. */
  readonly targets: Map<string, WebhookTarget>;
  /** Keys of the default endpoints, by account. */
  readonly defaultKeys: Map<string, KnownKeys>;
  readonly messages: readonly ReceivedMessage[];
  /** Number of messages that the comparison with the database required. */
  required: number;
}

/** Requests that clients sent, and the responses that they received. */
export interface Journal {
  readonly requests: ClientRequest[];
  /** Email addresses by account. */
  readonly accounts: Map<string, string>;
  /** By prompt, which is unique per create. */
  readonly createsByPrompt: Map<string, ObservedCreate>;
  /** By uuid. */
  readonly generations: Map<string, ObservedGeneration>;
  /** By uuid. */
  readonly keys: Map<string, ObservedKey>;
  /** Creates as they were sent, at a time of `Date.now`. */
  readonly sentCreates: { accountUuid: string; at: number }[];
  readonly rejectedCreates: RejectedCreate[];
  readonly topups: PaidTopup[];
  readonly plans: { accountUuid: string; plan: PlanSlug; subscriptionId: string }[];
  readonly adjustments: CreditAdjustment[];
  readonly deletions: AccountDeletion[];
  /** Generations that staff refunded. */
  readonly staffRefunds: { uuid: string; accountUuid: string; credits: number }[];
  readonly webhooks: WebhookJournal;
  /** Violations that were detected in responses. */
  readonly violations: ClientViolation[];
  /** Called for every request when it has ended. */
  onResponse?: ((request: ClientRequest) => void) | undefined;
}

/** @param messages the messages of the webhook receiver, which adds more. */
export function createJournal(messages: readonly ReceivedMessage[]): Journal {
  return {
    requests: [],
    accounts: new Map(),
    createsByPrompt: new Map(),
    generations: new Map(),
    keys: new Map(),
    sentCreates: [],
    rejectedCreates: [],
    topups: [],
    plans: [],
    adjustments: [],
    deletions: [],
    staffRefunds: [],
    webhooks: { endpoints: [], targets: new Map(), defaultKeys: new Map(), messages, required: 0 },
    violations: [],
  };
}

import type { ModelSlug } from '../../../shared/spec/catalog.ts';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import type { ReceivedMessage } from '../webhookReceiver.ts';
import type { ClientViolation } from './violations.ts';
import { createWebhookStore, type WebhookStore } from './webhooks/webhookStore.ts';

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
  idempotencyKey: string | null;
  /** Observed statuses, with their count. */
  seen: Record<string, number>;
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

export interface PaidTopup {
  accountUuid: string;
  sessionId: string;
  amountCents: number;
  /** In milliseconds, as of `Date.now`. */
  at: number;
  /** True if the account began to need credits only after this payment. */
  isAwaited: boolean;
}

export interface PaidPlan {
  accountUuid: string;
  plan: PlanSlug;
  subscriptionId: string;
  at: number;
}

/** A create as it was sent. Times are in milliseconds, as of `Date.now`. */
export interface SentCreate {
  accountUuid: string;
  at: number;
}

/** A create whose response rules out a later charge of a card. Times as above. */
export interface RejectedCreate extends SentCreate {
  respondedAt: number;
  prompt: string;
  /** Status or code, and detail. */
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
export interface CreditAdjustment {
  accountUuid: string;
  /** Name of the request, which makes it happen once. */
  request: string;
  credits: number;
  /** True if the command reported success; otherwise the outcome is unknown. */
  isConfirmed: boolean;
}

/** Requests that clients sent, and the responses that they received. */
export interface ClientStore {
  readonly requests: ClientRequest[];
  /** Email addresses by account. */
  readonly accounts: Map<string, string>;
  /** By prompt, which is unique per create. */
  readonly createsByPrompt: Map<string, ObservedCreate>;
  /** By uuid. */
  readonly generations: Map<string, ObservedGeneration>;
  /** By uuid. */
  readonly keys: Map<string, ObservedKey>;
  readonly sentCreates: SentCreate[];
  readonly rejectedCreates: RejectedCreate[];
  readonly topups: PaidTopup[];
  readonly plans: PaidPlan[];
  readonly adjustments: CreditAdjustment[];
  readonly deletions: AccountDeletion[];
  /** Generations that staff refunded, by uuid. */
  readonly staffRefunds: Map<string, { accountUuid: string; credits: number }>;
  readonly webhooks: WebhookStore;
  /** Violations that were detected in responses. */
  readonly violations: ClientViolation[];
  /** Called for every request when it has ended. */
  onResponse?: ((request: ClientRequest) => void) | undefined;
}

/** @param messages the messages of the webhook receiver, which adds more. */
export function createClientStore(messages: readonly ReceivedMessage[]): ClientStore {
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
    staffRefunds: new Map(),
    webhooks: createWebhookStore(messages),
    violations: [],
  };
}

export interface LimitedCounts {
  accepted: number;
  rejected: number;
}

/** Counts the creates of a kind that has spending limits: `LIMITED_CREATE` or `APPLICATION_CALL`. */
export function countLimited({ requests }: Pick<ClientStore, 'requests'>, limitedKind: string): LimitedCounts {
  const limited = requests.filter(({ kind }) => kind === limitedKind);
  return {
    accepted: limited.filter(({ status, code }) => (status === 200 || status === 201) && code === null).length,
    rejected: limited.filter(({ code }) => code === 'spending_limit_reached').length,
  };
}

/** Counts requests by kind and response: `create`, `201`; `read`, `503 internal_error`. */
export function countResponses({ requests }: Pick<ClientStore, 'requests'>): Map<string, Map<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  for (const { kind, status, code } of requests) {
    const responses = counts.get(kind) ?? new Map<string, number>();
    counts.set(kind, responses);
    const response = code === null ? String(status) : `${status} ${code}`;
    responses.set(response, (responses.get(response) ?? 0) + 1);
  }
  return counts;
}

import type { ModelSlug } from '../../../shared/spec/catalog.ts';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import type { ClientViolation } from './violations.ts';

/** A request, and what came of it. */
export interface ClientRequest {
  /** When it began, in milliseconds, as of `Date.now`. */
  at: number;
  kind: string;
  address: string;
  status: number | 'cut' | 'timeout';
  /** Of an error, as REST names it, also where a tool of MCP told it in a 200. */
  code: string | null;
  durationMs: number;
}

/** An order of a generation, however often it was sent. Moments are in milliseconds, as of `performance.now`. */
export interface ObservedCreate {
  prompt: string;
  accountUuid: string;
  model: ModelSlug;
  credits: number;
  idempotencyKey: string | null;
  /** The moment of the first, by the service's clock. */
  firstSentAt: Date;
  sent: number;
  /** Answers that say that nothing was done. */
  rejected: number;
  /** Sent again so late that its key may be forgotten. */
  isStale: boolean;
  /** What it was answered with. */
  uuids: Set<string>;
}

/** A generation whose 201 (or the answer of a tool) was seen. Moments as above. */
export interface ObservedGeneration {
  uuid: string;
  accountUuid: string;
  surface: 'REST' | 'MCP';
  prompt: string;
  model: ModelSlug;
  credits: number;
  idempotencyKey: string | null;
  /** The statuses that were seen, and how often. */
  seen: Record<string, number>;
  final: { status: 'succeeded' | 'failed'; outputPath: string | null; at: number } | null;
  isDownloaded: boolean;
  /** From when on somebody may have deleted it. */
  deleteRequestedAt: number | null;
  deletedAt: number | null;
}

/** An API key whose 201 was seen. Moments as above. */
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
  /** As of `Date.now`, in milliseconds. */
  at: number;
}

export interface PaidPlan {
  accountUuid: string;
  plan: PlanSlug;
  subscriptionId: string;
  at: number;
}

/** A create, as it was sent. Moments are in milliseconds, as of `Date.now`. */
export interface SentCreate {
  accountUuid: string;
  at: number;
}

/** A create that was answered in a way that rules out a later charge of a card. Moments as above. */
export interface RejectedCreate extends SentCreate {
  respondedAt: number;
  prompt: string;
  /** Status or code, and detail. */
  response: string;
}

/** What clients asked for, and what they were told. */
export interface ClientStore {
  readonly requests: ClientRequest[];
  /** Addresses by account. */
  readonly accounts: Map<string, string>;
  /** By prompt: each order has its own. */
  readonly createsByPrompt: Map<string, ObservedCreate>;
  /** By uuid. */
  readonly generations: Map<string, ObservedGeneration>;
  /** By uuid. */
  readonly keys: Map<string, ObservedKey>;
  readonly sentCreates: SentCreate[];
  readonly rejectedCreates: RejectedCreate[];
  readonly topups: PaidTopup[];
  readonly plans: PaidPlan[];
  /** What was seen to be wrong at once. */
  readonly violations: ClientViolation[];
  /** Is told of every request when it has ended. */
  onResponse?: ((request: ClientRequest) => void) | undefined;
}

export function createClientStore(): ClientStore {
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
    violations: [],
  };
}

/** Requests counted by kind and by what they were answered with: `create`, `201`; `read`, `503 internal_error`. */
export function countResponses({ requests }: Pick<ClientStore, 'requests'>): Map<string, Map<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  for (const { kind, status, code } of requests) {
    const answers = counts.get(kind) ?? new Map<string, number>();
    counts.set(kind, answers);
    const answer = code === null ? String(status) : `${status} ${code}`;
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  return counts;
}

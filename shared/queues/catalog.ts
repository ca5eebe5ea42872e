import { Ajv2020 } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';
import { config } from '../lib/config.ts';
import { HOUR_MS, MINUTE_MS } from '../spec/durations.ts';
import { UUID_PATTERN } from '../lib/uuid.ts';

/**
 * Catalog of all jobs: the contract between the processes. Payloads carry ids, and what selects the slots of the
 * upstream; Postgres is the source of truth. A job is a hint that rows are due: the sweep replaces a lost one, and a
 * repeated one finds nothing to do.
 */

/** Batch size of a job: ids that are enqueued together share one job. */
export const MAX_IDS_PER_JOB = 64;

const Uuid = Type.String({ pattern: `^${UUID_PATTERN}$` });
/** Primary key of a generation. Its account is part of the key, so that the table can be partitioned by account. */
const GenerationKey = Type.Object(
  { uuid: Uuid, account_id: Type.Integer({ minimum: 1 }) },
  { additionalProperties: false },
);
export type GenerationKey = Static<typeof GenerationKey>;

/** For the logs and traces of the job. */
const ORIGIN = {
  /** The request that created the generation. Unknown after Redis has lost data. */
  requestId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  /** W3C trace context of that request. Only while the sender records traces. */
  traceparent: Type.Optional(Type.String({ minLength: 55, maxLength: 64 })),
};

/** A generation without an upstream, and what its route follows from. */
const UnsubmittedGeneration = Type.Object(
  {
    ...GenerationKey.properties,
    ...ORIGIN,
    model: Type.String({ minLength: 1 }),
    catalog_id: Type.Union([Type.Integer(), Type.Null()]),
    /** Absent for the order of the catalog. */
    upstream_order: Type.Optional(Type.Union([Type.Array(Type.Integer({ minimum: 0 })), Type.Null()])),
    is_test: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type UnsubmittedGeneration = Static<typeof UnsubmittedGeneration>;

/** A generation, and the upstream that has accepted it. */
const SubmittedGeneration = Type.Object(
  {
    ...GenerationKey.properties,
    ...ORIGIN,
    upstream: Type.String({ minLength: 1 }),
    /** True if a reader waits for it: it overtakes others of its upstream. */
    isAwaited: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type SubmittedGeneration = Static<typeof SubmittedGeneration>;

const UnsubmittedPayload = Type.Object(
  { generations: Type.Array(UnsubmittedGeneration, { minItems: 1, maxItems: MAX_IDS_PER_JOB }) },
  { additionalProperties: false },
);
const SubmittedPayload = Type.Object(
  { generations: Type.Array(SubmittedGeneration, { minItems: 1, maxItems: MAX_IDS_PER_JOB }) },
  { additionalProperties: false },
);
const AccountsPayload = Type.Object(
  { accountIds: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: MAX_IDS_PER_JOB }) },
  { additionalProperties: false },
);
const KindPayload = Type.Object({ kind: Type.String({ minLength: 1 }) }, { additionalProperties: false });
const EmptyPayload = Type.Object({}, { additionalProperties: false });

/** One queue per subject, so that slow jobs of one do not delay the others. */
export const QUEUES = [
  'dispatch',
  'poll',
  'collect',
  'billing',
  'media',
  'maintenance',
  'notifications',
  'tasks',
] as const;
export type QueueName = (typeof QUEUES)[number];

/**
 * Prefix of all BullMQ keys of a queue. The braces are a hash tag: they keep the queue's keys in one slot of a Redis
 * Cluster, as BullMQ's scripts need, and spread the queues over the slots.
 */
export const getQueuePrefix = (queue: QueueName, prefix = config.REDIS_PREFIX) => `{${prefix}:${queue}}`;

interface JobDefinition {
  queue: QueueName;
  payload:
    | typeof UnsubmittedPayload
    | typeof SubmittedPayload
    | typeof AccountsPayload
    | typeof KindPayload
    | typeof EmptyPayload;
  /** Maximum number of attempts, with a back-off of 1 s, 2 s, 4 s. Jobs that are repeated within seconds have one. */
  attempts: number;
  /** Interval of a scheduled job, over all workers. */
  everyMs?: number | (() => number);
}

export const JOBS = {
  /** Submits queued generations to their upstream. */
  'generation.dispatch': { queue: 'dispatch', payload: UnsubmittedPayload, attempts: 3 },
  /** Polls the upstream for the progress of submitted generations. */
  'generation.poll': { queue: 'poll', payload: SubmittedPayload, attempts: 1 },
  /** Stores the outputs of generations that have ended at their upstream. */
  'generation.collect': { queue: 'collect', payload: SubmittedPayload, attempts: 1 },
  /** Re-enqueues overdue generations, and fails those past their deadline. */
  'generation.sweep': {
    queue: 'maintenance',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => config.SWEEP_INTERVAL_MS,
  },
  /** Runs the tasks of a kind that are due. */
  'tasks.run': { queue: 'tasks', payload: KindPayload, attempts: 1 },
  /** Runs all tasks that are due: retries, and those whose job was lost. */
  'tasks.sweep': { queue: 'tasks', payload: EmptyPayload, attempts: 1, everyMs: () => config.SWEEP_INTERVAL_MS },
  /** Shows that workers take jobs from their queues. */
  'worker.heartbeat': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 5_000 },
  /** Probes the upstreams of each model. */
  'models.healthCheck': {
    queue: 'maintenance',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => config.PROBE_INTERVAL_MS,
  },
  /** Charges an automatic top-up for accounts below their threshold. */
  'autoTopups.charge': { queue: 'billing', payload: AccountsPayload, attempts: 1 },
  /** Charges automatic top-ups whose job was lost. */
  'autoTopups.sweep': { queue: 'billing', payload: EmptyPayload, attempts: 1, everyMs: MINUTE_MS },
  /** Ends simulated subscriptions after their year and those past due for too long, and syncs lapsed ones. */
  'billing.maintain': { queue: 'billing', payload: EmptyPayload, attempts: 1, everyMs: 30_000 },
  /** Fetches events that the payment processor did not deliver. */
  'paymentEvents.backfill': { queue: 'billing', payload: EmptyPayload, attempts: 4, everyMs: 5 * MINUTE_MS },
  /** Compares recent subscriptions and payments with the payment processor. */
  'payments.reconcile': { queue: 'billing', payload: EmptyPayload, attempts: 4, everyMs: HOUR_MS },
  /** Creates the payouts of payable commissions; a task transfers each. */
  'payouts.run': { queue: 'billing', payload: EmptyPayload, attempts: 4, everyMs: 10 * MINUTE_MS },
  /** Renews credit periods that have ended, and grants the next month. */
  'creditPeriods.renew': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 30_000 },
  /** Deletes temporary files that dead workers left behind. */
  'media.cleanTemp': { queue: 'media', payload: EmptyPayload, attempts: 1, everyMs: HOUR_MS },
  /** Deletes images of customers that were not used for a day. */
  'uploads.expire': { queue: 'media', payload: EmptyPayload, attempts: 1, everyMs: MINUTE_MS },
  /** Revokes API keys that have expired. */
  'apiKeys.expire': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: MINUTE_MS },
  /** Updates the hourly sums of the staff metrics and reports when they are a minute old. */
  'generationHours.sum': {
    queue: 'maintenance',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => 5 * config.SWEEP_INTERVAL_MS,
  },
  /** Delivers webhooks that are due. */
  'webhooks.deliver': {
    queue: 'notifications',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => config.SWEEP_INTERVAL_MS,
  },
  /** Records reminders of renewals and of missing payout setups. */
  'reminders.record': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: HOUR_MS },
  /** Deletes or empties rows whose retention is over. Often, because anyone can register clients of OAuth. */
  'rows.prune': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 10 * MINUTE_MS },
} as const satisfies Record<string, JobDefinition>;

export type JobName = keyof typeof JOBS;
export type Payload<Name extends JobName> = Static<(typeof JOBS)[Name]['payload']>;

/** Time after which a job lock expires without renewal, and the interval at which expired locks are detected. */
export const JOB_LOCK_MS = 8_000;
export const STALLED_INTERVAL_MS = 4_000;
/** Number of workers that may die while they process a job before it fails (the sweep then re-enqueues its rows). */
export const MAX_STALLED_COUNT = 10;

export const JOB_NAMES = Object.keys(JOBS) as JobName[];

export function getJobDefinition(name: JobName): JobDefinition {
  return JOBS[name];
}

/** Returns the interval of a scheduled job; undefined for other jobs. */
export function getIntervalMs({ everyMs }: JobDefinition): number | undefined {
  return typeof everyMs === 'function' ? everyMs() : everyMs;
}

const ajv = new Ajv2020({ validateSchema: false });

/**
 * Validates a payload against the catalog. Called when a job is enqueued and again when it is received.
 * @throws Error if the payload does not match.
 */
export function parsePayload<Name extends JobName>(name: Name, payload: unknown): Payload<Name> {
  if (!isJobName(name)) throw new Error(`Unknown job ${String(name)}.`);
  // Ajv caches the compiled schema. Compiling all schemas up front would take a third of the start time.
  const validate = ajv.compile(JOBS[name].payload);
  if (!validate(payload)) throw new Error(`Invalid payload of ${name}: ${ajv.errorsText(validate.errors)}.`);
  return payload as Payload<Name>;
}

export function isJobName(name: string): name is JobName {
  return Object.hasOwn(JOBS, name);
}

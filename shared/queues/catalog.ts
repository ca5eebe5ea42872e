import { Ajv2020 } from 'ajv/dist/2020.js';
import Type, { type Static } from 'typebox';
import { config } from '../lib/config.ts';

/**
 * Every job there is: the contract between the processes. A payload carries ids only, since the truth is in Postgres;
 * a job only rings the bell for rows that are due, so that a lost one is replaced by the sweep and a repeated one
 * finds nothing to do.
 */

/** One flush of creates, or what is due at the same time, goes as one job. */
export const MAX_IDS_PER_JOB = 64;

const Uuid = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
const GenerationsPayload = Type.Object(
  {
    generationIds: Type.Array(Uuid, { minItems: 1, maxItems: MAX_IDS_PER_JOB }),
    /** For the logs: the request that each was created by, where that is known. Jobs of before have none. */
    requestIds: Type.Optional(
      Type.Record(Type.String({ pattern: '^[0-9a-f-]{36}$' }), Type.String({ minLength: 1, maxLength: 64 })),
    ),
  },
  { additionalProperties: false },
);
const AccountsPayload = Type.Object(
  { accountIds: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: MAX_IDS_PER_JOB }) },
  { additionalProperties: false },
);
const EventsPayload = Type.Object(
  { eventIds: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: MAX_IDS_PER_JOB }) },
  { additionalProperties: false },
);
const EmptyPayload = Type.Object({}, { additionalProperties: false });

/** One for each duty, so that none waits behind another. */
export const QUEUES = ['dispatch', 'poll', 'refresh', 'billing', 'media', 'maintenance'] as const;
export type QueueName = (typeof QUEUES)[number];

interface JobDefinition {
  queue: QueueName;
  payload: typeof GenerationsPayload | typeof AccountsPayload | typeof EventsPayload | typeof EmptyPayload;
  /** How often it is tried in all: again after 1 s, 2 s, 4 s. What comes round within seconds anyway is tried once. */
  attempts: number;
  /** For scheduled jobs: the time between two runs, over all workers. */
  everyMs?: number | (() => number);
}

export const JOBS = {
  /** Hand queued generations to their upstream. */
  'generation.dispatch': { queue: 'dispatch', payload: GenerationsPayload, attempts: 3 },
  /** Ask the upstream how submitted generations are getting on. */
  'generation.poll': { queue: 'poll', payload: GenerationsPayload, attempts: 3 },
  /** The same, since somebody is reading the generation right now. */
  'generation.refresh': { queue: 'refresh', payload: GenerationsPayload, attempts: 1 },
  /** Ring again for whatever is overdue, and end what is past its deadline. */
  'generation.sweep': {
    queue: 'maintenance',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => config.SWEEP_INTERVAL_MS,
  },
  /** Probe the upstream of each model. */
  'models.healthCheck': {
    queue: 'maintenance',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => config.PROBE_INTERVAL_MS,
  },
  /** Act upon events of the payment processor. */
  'paymentEvents.process': { queue: 'billing', payload: EventsPayload, attempts: 1 },
  /** Act upon events that were missed, or could not be acted upon. */
  'paymentEvents.retry': {
    queue: 'billing',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => config.SWEEP_INTERVAL_MS,
  },
  /** Buy credits for accounts that have fallen below their threshold. */
  'autoTopups.charge': { queue: 'billing', payload: AccountsPayload, attempts: 1 },
  /** The same for those that were missed. */
  'autoTopups.sweep': { queue: 'billing', payload: EmptyPayload, attempts: 1, everyMs: 60_000 },
  /** Settle, end and look after whatever is due by the clock. */
  'billing.maintain': { queue: 'billing', payload: EmptyPayload, attempts: 1, everyMs: 30_000 },
  /** Ask the payment processor for the events that never arrived. */
  'paymentEvents.backfill': { queue: 'billing', payload: EmptyPayload, attempts: 4, everyMs: 300_000 },
  /** Look at what it may have told of in vain: subscriptions and payments of the last days. */
  'payments.reconcile': { queue: 'billing', payload: EmptyPayload, attempts: 4, everyMs: 3_600_000 },
  /** Pay affiliates what has become payable, and settle what is not known to be paid. */
  'payouts.run': { queue: 'billing', payload: EmptyPayload, attempts: 4, everyMs: 600_000 },
  /** Turn the credit periods that are over, and grant the next month. */
  'creditPeriods.renew': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 30_000 },
  /** Remove what dead workers left of downloads. */
  'media.cleanTemp': { queue: 'media', payload: EmptyPayload, attempts: 1, everyMs: 3_600_000 },
  /** Remove the files of generations that are gone. */
  'media.delete': { queue: 'media', payload: EmptyPayload, attempts: 1, everyMs: 5_000 },
  /** Purge prompts, parameters and errors of generations that were deleted long ago. */
  'generations.purge': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 3_600_000 },
  /** Forget idempotency keys that have done their service. */
  'idempotencyKeys.prune': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 3_600_000 },
  /** Delete answers to repeated requests that have done their service. */
  'idempotentRequests.prune': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 3_600_000 },
  /** Delete old payment events. */
  'paymentEvents.prune': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 3_600_000 },
  /** Forget sessions that are over, and sign-ins that were never completed. */
  'sessions.prune': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 3_600_000 },
  /** Fold what the platform-wide sums have gained into them. */
  'metrics.rollup': {
    queue: 'maintenance',
    payload: EmptyPayload,
    attempts: 1,
    everyMs: () => 5 * config.SWEEP_INTERVAL_MS,
  },
  /** Forget codes, refresh tokens, clients and signing keys that are over. */
  'oauth.prune': { queue: 'maintenance', payload: EmptyPayload, attempts: 1, everyMs: 600_000 },
} as const satisfies Record<string, JobDefinition>;

export type JobName = keyof typeof JOBS;
export type Payload<Name extends JobName> = Static<(typeof JOBS)[Name]['payload']>;

/** How long a worker's hold on a job lasts without a sign of life, and how often dead holds are looked for. */
export const JOB_LOCK_MS = 8_000;
export const STALLED_INTERVAL_MS = 4_000;
/** How many workers may die over the same job before it is given up (the sweep then rings again for its rows). */
export const MAX_STALLED_COUNT = 10;

export const JOB_NAMES = Object.keys(JOBS) as JobName[];

export function getJobDefinition(name: JobName): JobDefinition {
  return JOBS[name];
}

/** The time between two runs of a scheduled job; undefined for the others. */
export function getIntervalMs({ everyMs }: JobDefinition): number | undefined {
  return typeof everyMs === 'function' ? everyMs() : everyMs;
}

const ajv = new Ajv2020({ validateSchema: false });

/**
 * Checks a payload against the catalog, when it is enqueued and again when it is received.
 * @throws Error when it does not fit.
 */
export function parsePayload<Name extends JobName>(name: Name, payload: unknown): Payload<Name> {
  if (!isJobName(name)) throw new Error(`No job is called ${String(name)}.`);
  // Compiled when it is first needed, and known from then on: compiling all is a third of a process' start.
  const validate = ajv.compile(JOBS[name].payload);
  if (!validate(payload)) throw new Error(`The payload of ${name} does not fit: ${ajv.errorsText(validate.errors)}.`);
  return payload as Payload<Name>;
}

export function isJobName(name: string): name is JobName {
  return Object.hasOwn(JOBS, name);
}

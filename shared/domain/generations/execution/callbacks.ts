import type { IncomingHttpHeaders } from 'node:http';
import {
  findUpstreamSettings,
  isRecentCallback,
  UpstreamError,
  type UpstreamRoute,
  verifyCallback,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { decryptText, deriveKey, encryptText } from '../../../lib/encryption.ts';
import { throttleLog } from '../../../lib/logThrottle.ts';
import { logger } from '../../../lib/logger.ts';
import { getServerSecret } from '../../../lib/serverSecret.ts';
import { isUuid } from '../../../lib/uuid.ts';
import { recordCallbackActivity } from '../../../queues/callbackActivity.ts';
import { enqueuePoll } from '../../../queues/enqueue.ts';
import { MINUTE_MS } from '../../../spec/durations.ts';
import { ServiceError } from '../../../spec/errors.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';
import { type ClaimedGeneration, SWEEP_GRACE_MS } from './step.ts';

/** Returns the address for the call-back of a submit; undefined if its upstream sends none. */
export function buildCallbackUrl(generation: ClaimedGeneration, { upstream }: UpstreamRoute): string | undefined {
  if (upstream.callbacks === undefined) return undefined;
  const { uuid, account_id: accountId, submit_started_at: submitStartedAt } = generation;
  const token = buildCallbackToken({ uuid, accountId, upstream: upstream.name, submitStartedAt });
  return `${upstream.callbacks.serviceUrl}${CALLBACK_PATH}${token}`;
}

/** A call-back as the API receives it. Header names are in lower case. */
export interface ReceivedCallback {
  token: string;
  headers: IncomingHttpHeaders;
  /** Reads the body. Not called for a request that is rejected without it. */
  readBody: () => Promise<Buffer>;
}

/**
 * Receives the call-back of an upstream: makes the generation's next poll due now. Nothing else of it is used; a worker
 * asks the upstream. It has no effect on a generation that has ended, or was submitted again since.
 * @throws ServiceError not_found for every request that is not a verified call-back, whatever is wrong with it;
 *   internal_error if it cannot be verified now.
 */
export async function receiveCallback({ token, headers, readBody }: ReceivedCallback): Promise<void> {
  const target = parseCallbackToken(token);
  const upstream = target && findUpstreamSettings(target.upstream);
  if (target === undefined || upstream?.callbacks === undefined) throw rejectCallback('unknown address');
  if (!isRecentCallback(upstream, headers)) throw rejectCallback('signature missing, malformed or too old');
  const body = await readBody();
  const jobId = await verifyCallback(upstream, { headers, body }).catch(toVerificationError);
  if (jobId === undefined) throw rejectCallback('signature invalid');
  recordCallbackActivity(upstream.name);
  await makePollDue(target, jobId);
}

/**
 * Makes the next poll of a generation due: now, or 2 seconds after the last poll. Before the response to the submit is
 * recorded, `next_poll_at` alone says that a call-back has arrived, and the poll follows at once. A generation whose
 * poll is due already is not updated again.
 */
const MAKE_POLL_DUE = prepared(
  'make_poll_due',
  `WITH target AS (
     SELECT g.uuid, g.account_id, g.upstream_handle IS NOT NULL AS is_submitted,
            greatest(cast(:now AS timestamptz), g.polled_at + interval '${REFRESH_INTERVAL_MS} milliseconds') AS due
       FROM generations g
      WHERE g.uuid = :uuid AND g.account_id = :accountId AND g.status = 'queued' AND g.upstream = :upstream
        AND g.upstream_output IS NULL
        AND cast(:submitStartedAt AS timestamptz) IN (g.submitted_at, g.submit_started_at)
        AND (g.upstream_handle IS NULL OR coalesce(g.upstream_handle ->> 'request_id', g.upstream_handle ->> 'id') = :jobId)
        FOR NO KEY UPDATE
   )
   UPDATE generations g
      SET next_poll_at = target.due,
          next_attempt_at = CASE WHEN target.is_submitted
                                 THEN target.due + interval '${SWEEP_GRACE_MS} milliseconds' ELSE g.next_attempt_at END
     FROM target
    WHERE g.uuid = target.uuid AND g.account_id = target.account_id
      AND (g.next_poll_at IS NULL OR g.next_poll_at > target.due)
   RETURNING target.is_submitted, target.due`,
);

/** Granularity of delays, so that generations share jobs. */
const DELAY_STEP_MS = 100;

/** Writes the row first: if Redis loses the job, the sweep finds the row. */
async function makePollDue({ uuid, accountId, upstream, submitStartedAt }: CallbackTarget, jobId: string) {
  const at = now();
  const bindings = { uuid, accountId, upstream, submitStartedAt, jobId, now: at };
  const [row] = await runStatement<{ is_submitted: boolean; due: Date }>(MAKE_POLL_DUE, bindings);
  if (row?.is_submitted !== true) return;
  const delayMs = Math.ceil((row.due.getTime() - at.getTime()) / DELAY_STEP_MS) * DELAY_STEP_MS;
  void enqueuePoll({ uuid, account_id: accountId, upstream }, delayMs);
}

/**
 * Either the request is not the upstream's, or the keys of its call-backs are wrong, and then none is ever accepted.
 */
const warnRejectedCallback = throttleLog(MINUTE_MS, (suppressed, problem: string) =>
  logger.warn({ problem, suppressed }, 'upstream call-back rejected; polls continue'),
);

function rejectCallback(problem: string): ServiceError {
  warnRejectedCallback(problem);
  return new ServiceError('not_found', 'Not found. This is not a call-back of an upstream.');
}

function toVerificationError(error: unknown): never {
  if (!(error instanceof UpstreamError)) throw error;
  throw new ServiceError('internal_error', 'The signature cannot be verified now. Try again.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

const RETRY_AFTER_SECONDS = 10;

/**
 * Address at which an upstream reports that a run has ended. Its token is encrypted and authenticated, so that it
 * cannot be guessed and reveals nothing, and no row has to be stored for it.
 */

/** Path below the address of the service. */
const CALLBACK_PATH = '/upstream-events/';

/** The run that a call-back is about. */
interface CallbackTarget {
  uuid: string;
  accountId: number;
  upstream: string;
  /** Time of the claim whose submit started the run: another submit of the same generation has another address. */
  submitStartedAt: Date;
}

/** Longest token: an upstream's name has no other limit. */
const TOKEN_MAX_CHARACTERS = 400;

const tokenKey = () => deriveKey(getServerSecret(), 'upstream call-back');

/** Builds the token of a run. */
export function buildCallbackToken({ uuid, accountId, upstream, submitStartedAt }: CallbackTarget): string {
  const text = [uuid, accountId, submitStartedAt.getTime(), upstream].join(' ');
  return encryptText(tokenKey(), text).toString('base64url');
}

/** Returns the run of a token; undefined if this service has not built it. */
export function parseCallbackToken(token: string): CallbackTarget | undefined {
  if (token.length > TOKEN_MAX_CHARACTERS || !/^[\w-]+$/.test(token)) return undefined;
  try {
    const [uuid = '', accountId, submittedAt, upstream = ''] = decryptText(
      tokenKey(),
      Buffer.from(token, 'base64url'),
    ).split(' ');
    if (!isUuid(uuid)) return undefined;
    return { uuid, accountId: Number(accountId), upstream, submitStartedAt: new Date(Number(submittedAt)) };
  } catch {
    return undefined;
  }
}

import { storeOutput } from '../../gateways/media/storeOutput.ts';
import { deleteTempFile } from '../../gateways/media/tempFiles.ts';
import { getDownloadPolicy } from '../../gateways/upstreams/index.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { GenerationFile } from '../../tables/Generation.ts';
import { UpstreamTrial } from '../../tables/UpstreamTrial.ts';
import { recordAuditEntry, type StaffActor } from '../audit/recordAuditEntry.ts';
import { DELETE_MEDIA } from '../generations/mediaDeletions.ts';
import type { Retention } from '../retention.ts';
import { scheduleTasks } from '../tasks/scheduleTasks.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { TrialError, tryUpstream } from './tryUpstream.ts';
import { showUpstreamRequest } from './listRoutes.ts';

/** Trials of staff: a row and a task each. The worker that starts one sends it; nothing sends it again. */

/** Trials that wait or run at the same time, of all members of staff. */
export const OPEN_TRIALS_MAX = 3;
const TIMEOUT_MS = 10 * MINUTE_MS;
const RETENTION_MS = 7 * DAY_MS;
const STEP_MAX_CHARACTERS = 2_000;
const WRITE_INTERVAL_MS = 2_000;

export interface RequestedTrial {
  /** UUID of the form. */
  uuid: string;
  /** `name:model id` of the configuration. */
  upstream: string;
  prompt: string;
}

/**
 * Records a trial that a worker will send, with an audit entry. A form that was sent before requests nothing.
 * @throws ServiceError not_found, validation_error; rate_limited while other trials are open.
 */
export async function requestTrial({ uuid, upstream, prompt }: RequestedTrial, actor: StaffActor): Promise<void> {
  await showUpstreamRequest(upstream, prompt);
  await UpstreamTrial.transaction(async (transaction) => {
    await transaction.raw('LOCK TABLE upstream_trials IN SHARE ROW EXCLUSIVE MODE');
    if ((await UpstreamTrial.query(transaction).findById(uuid)) !== undefined) return;
    if ((await UpstreamTrial.query(transaction).whereNull('ended_at').resultSize()) >= OPEN_TRIALS_MAX)
      throw new ServiceError('rate_limited', `${OPEN_TRIALS_MAX} trials are in progress. Wait until one has ended.`, {
        retryAfterSeconds: 60,
      });
    await UpstreamTrial.query(transaction).insert({
      uuid,
      upstream,
      prompt,
      requested_by: actor.accountId,
      requested_at: now(),
    });
    await recordAuditEntry(transaction, actor, { action: 'upstream.try', accountId: null, targetId: upstream });
    await scheduleTasks(transaction, RUN_TRIAL.name, [{ key: uuid, accountId: null }]);
  });
}

/** Lists the latest trials, newest first. */
export async function listTrials(limit: number): Promise<UpstreamTrial[]> {
  return UpstreamTrial.query().orderBy('requested_at', 'desc').limit(limit);
}

/** @throws ServiceError not_found */
export async function findTrial(uuid: string): Promise<UpstreamTrial> {
  const trial = await UpstreamTrial.query().findById(uuid);
  if (trial !== undefined) return trial;
  throw new ServiceError('not_found', 'Not found. Trials are deleted after 7 days.');
}

const START_TRIAL = prepared(
  'start_upstream_trial',
  `UPDATE upstream_trials SET started_at = :now WHERE uuid = :uuid AND started_at IS NULL
   RETURNING uuid, upstream, prompt, media_token`,
);

const ADD_STEPS = prepared(
  'add_upstream_trial_steps',
  'UPDATE upstream_trials SET steps = steps || cast(:steps AS text[]) WHERE uuid = :uuid',
);

const END_TRIAL = prepared(
  'end_upstream_trial',
  `UPDATE upstream_trials
      SET ended_at = :now, output_path = :output, thumbnail_path = :thumbnail, steps = steps || cast(:steps AS text[])
    WHERE uuid = :uuid`,
);

const END_INTERRUPTED = prepared(
  'end_interrupted_upstream_trial',
  `UPDATE upstream_trials SET ended_at = :now, steps = array_append(steps, :step)
    WHERE uuid = :uuid AND ended_at IS NULL`,
);

const INTERRUPTED =
  '= interrupted: its worker has stopped, or could not record the end. It is not sent again; the provider may charge for it.';

export const RUN_TRIAL: TaskKind = {
  name: 'upstream.try',
  backoff: { minMs: 1_000, maxMs: MINUTE_MS },
  concurrency: OPEN_TRIALS_MAX,
  run: async ([{ key: uuid }]) => {
    const [trial] = await runStatement<StartedTrial>(START_TRIAL, { uuid, now: now() });
    if (trial === undefined) await runStatement(END_INTERRUPTED, { uuid, now: now(), step: INTERRUPTED });
    else await runTrial(trial);
    return undefined;
  },
  waiting:
    'SELECT cast(NULL AS bigint) AS account_id, cast(uuid AS text) AS key FROM upstream_trials WHERE ended_at IS NULL',
};

/** Files and rows of trials. */
export const TRIAL_RETENTION: Retention = {
  table: 'upstream_trials',
  key: 'uuid',
  since: 'requested_at',
  afterMs: RETENTION_MS,
  where: 'ended_at IS NOT NULL',
  also: `INSERT INTO tasks (kind, key, run_at, created_at)
         SELECT '${DELETE_MEDIA.name}', media_token, cast(:now AS timestamptz), cast(:now AS timestamptz) FROM changed
         ON CONFLICT (kind, key) DO NOTHING`,
};

type StartedTrial = Pick<UpstreamTrial, 'uuid' | 'upstream' | 'prompt' | 'media_token'>;

/** Sends a trial, follows it to its file, and records each step while it runs. */
async function runTrial(trial: StartedTrial): Promise<void> {
  const steps: string[] = [];
  const takeSteps = () => steps.splice(0).map((step) => step.slice(0, STEP_MAX_CHARACTERS));
  // One write at a time, and the last before the end: steps stay in their order. Those of a failed write are missing.
  let writing: Promise<unknown> = Promise.resolve();
  const writeSteps = async () => {
    const added = takeSteps();
    if (added.length > 0) await runStatement(ADD_STEPS, { uuid: trial.uuid, steps: added }).catch(() => {});
  };
  const timer = setInterval(() => {
    writing = writing.then(writeSteps);
  }, WRITE_INTERVAL_MS);
  let stored: GenerationFile | undefined;
  try {
    stored = await sendAndStore(trial, (step) => steps.push(step));
  } catch (err) {
    if (!(err instanceof TrialError)) logger.error({ err, trial: trial.uuid }, 'upstream trial failed');
    steps.push(`= failed: ${err instanceof TrialError ? err.message : 'see the log of the worker'}`);
  } finally {
    clearInterval(timer);
    await writing;
  }
  const { output_path: output = null, thumbnail_path: thumbnail = null } = stored ?? {};
  await runStatement(END_TRIAL, { uuid: trial.uuid, now: now(), output, thumbnail, steps: takeSteps() });
}

async function sendAndStore(
  { uuid, upstream, prompt, media_token: mediaToken }: StartedTrial,
  report: (step: string) => void,
): Promise<GenerationFile | undefined> {
  const trial = { name: upstream, prompt, params: {}, isDryRun: false, timeoutMs: TIMEOUT_MS };
  const made = await tryUpstream(trial, report);
  if (made === undefined) return undefined;
  const { file, route } = made;
  const names = { generationId: uuid, name: 'output', mediaToken };
  try {
    return await storeOutput({ output: { file }, policy: getDownloadPolicy(route), kind: route.kind, ...names });
  } finally {
    await deleteTempFile(file);
  }
}

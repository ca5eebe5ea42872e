import { type Callback, createCallbackKeys } from '../../dev/sampleUpstream/callbacks.ts';
import type { UpstreamJob } from '../fakes/fakeUpstream.ts';
import type { ApiResponse } from './apiClient.ts';
import { sendRawRequest } from './rawRequest.ts';
import { eventually, type TestService } from './testService.ts';

/** Columns that a call-back may change, and those that it must not. */
export interface PollState {
  status: string;
  next_poll_at: Date | null;
  next_attempt_at: Date;
  polled_at: Date | null;
}

/** Sends a call-back, and returns the response of the service. */
export function postCallback({ url, headers, body }: Callback): Promise<ApiResponse & { text: string }> {
  const { origin, pathname } = new URL(url);
  return sendRawRequest(origin, 'POST', pathname, { headers, body });
}

/** Builds the call-back of a job that has ended. Waits for its submit, which asks for it. */
export function buildCallback({ upstream, now }: TestService, job: UpstreamJob, at = now): Callback {
  const callback = upstream.buildCallback(job, at);
  if (callback === null) throw new Error('The submit asked for no call-back.');
  return callback;
}

/** Builds a call-back that another key signed. */
export function buildForgedCallback(service: TestService, job: UpstreamJob): Callback {
  const { upstream } = service;
  const { callbackKeys } = upstream;
  upstream.callbackKeys = createCallbackKeys();
  try {
    return buildCallback(service, job);
  } finally {
    upstream.callbackKeys = callbackKeys;
  }
}

export async function readPollState(service: TestService, uuid: string): Promise<PollState> {
  const [row] = await service.sql<PollState>(
    'SELECT status, next_poll_at, next_attempt_at, polled_at FROM generations WHERE uuid = $1',
    [uuid],
  );
  return row as PollState;
}

/** Waits for the end of a generation without reading it: reads make the service poll. */
export async function waitForStoredEnd(service: TestService, uuid: string, withinMs?: number): Promise<string> {
  await eventually('ended', async () => (await readPollState(service, uuid)).status !== 'queued', withinMs);
  return (await readPollState(service, uuid)).status;
}

/** Makes the next poll due in a minute: an end before that follows from something else. */
export async function postponePolls(service: TestService, uuid: string): Promise<void> {
  await eventually('submitted', async () => {
    const rows = await service.sql(
      `UPDATE generations SET polled_at = now() - interval '10 seconds', next_poll_at = now() + interval '1 minute',
              next_attempt_at = now() + interval '1 minute'
        WHERE uuid = $1 AND upstream_handle IS NOT NULL RETURNING uuid`,
      [uuid],
    );
    return rows.length === 1;
  });
}

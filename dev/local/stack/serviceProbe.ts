import { setTimeout as delay } from 'node:timers/promises';

/** Number of probes in quick succession: a healthy service is ready within seconds. */
const FAST_POLLS = 10;
const PROBE_TIMEOUT_MS = 5_000;

/** State of a service at an address. */
export type ServiceProbe =
  | { kind: 'nothing' }
  | { kind: 'stranger'; what: string }
  | { kind: 'service'; version: string; models: ModelState[] };

export interface ModelState {
  slug: string;
  status: string;
  /** Provider of the model. */
  provider: string;
}

interface ProbeBody {
  status?: unknown;
  version?: string;
  error?: string;
  data?: ModelState[];
}

/** Checks what listens at an address and, if it is this service, the health of its models. */
export async function probeService(address: string): Promise<ServiceProbe> {
  let health: Response;
  try {
    health = await fetchWithTimeout(`${address}/api/health/`);
  } catch {
    return { kind: 'nothing' };
  }
  const { status, version, error } = await parseProbeBody(health);
  // Rate limited, through our own or other requests from this address: the service is running.
  if (error === 'rate_limited') return { kind: 'service', version: '', models: [] };
  if (status !== 'ok') return { kind: 'stranger', what: `status ${health.status} for /api/health/` };
  const { data } = await fetchWithTimeout(`${address}/api/models/`).then(parseProbeBody, (): ProbeBody => ({}));
  return { kind: 'service', version: version ?? '', models: data ?? [] };
}

/**
 * Waits until the service responds and all of its models are available.
 * @param isAborted ends the wait early.
 * @returns the last state, whatever it was.
 */
export async function waitForService(
  address: string,
  timeoutMs: number,
  isAborted: () => boolean,
): Promise<ServiceProbe> {
  const deadline = performance.now() + timeoutMs;
  let polls = 0;
  for (;;) {
    const answer = await probeService(address);
    if (isServiceReady(answer) || isAborted() || performance.now() > deadline) return answer;
    // Only answered requests count against the rate limits of public endpoints, which other clients share.
    await delay(answer.kind === 'nothing' ? 100 : polls < FAST_POLLS ? 300 : 2_500);
    polls += answer.kind === 'nothing' ? 0 : 1;
  }
}

/** Returns true if the service responds, and no model is offline. */
export function isServiceReady(answer: ServiceProbe): boolean {
  return (
    answer.kind === 'service' && answer.models.length > 0 && answer.models.every(({ status }) => status !== 'offline')
  );
}

function fetchWithTimeout(url: string): Promise<Response> {
  return fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS), redirect: 'manual' });
}

async function parseProbeBody(response: Response): Promise<ProbeBody> {
  try {
    const body: ProbeBody | null = JSON.parse(await response.text());
    return body ?? {};
  } catch {
    return {};
  }
}

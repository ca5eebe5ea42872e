import { setTimeout as delay } from 'node:timers/promises';

/** So many questions come quickly after each other: a service that is well is ready within seconds. */
const FAST_POLLS = 10;
const PROBE_TIMEOUT_MS = 5_000;

/** How a service answers at an address now. */
export type ServiceProbe =
  | { kind: 'nothing' }
  | { kind: 'stranger'; what: string }
  | { kind: 'service'; version: string; models: ModelState[] };

export interface ModelState {
  slug: string;
  status: string;
  /** Who makes it. */
  provider: string;
}

interface ProbeBody {
  status?: unknown;
  version?: string;
  error?: string;
  data?: ModelState[];
}

/** Asks whatever listens at an address whether it is this service, and how its models are. */
export async function probeService(address: string): Promise<ServiceProbe> {
  let health: Response;
  try {
    health = await fetchWithTimeout(`${address}/api/health/`);
  } catch {
    return { kind: 'nothing' };
  }
  const { status, version, error } = await parseProbeBody(health);
  // Asked too often, by us or by others from here: it is there all the same.
  if (error === 'rate_limited') return { kind: 'service', version: '', models: [] };
  if (status !== 'ok') return { kind: 'stranger', what: `status ${health.status} for /api/health/` };
  const { data } = await fetchWithTimeout(`${address}/api/models/`).then(parseProbeBody, (): ProbeBody => ({}));
  return { kind: 'service', version: version ?? '', models: data ?? [] };
}

/**
 * Waits until the service answers and all of its models can be had.
 * @param isAborted ends the wait before its time.
 * @returns the last answer, whatever it was by then.
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
    // Only what was answered counts against the limits of the public endpoints, which are there for others, too.
    await delay(answer.kind === 'nothing' ? 100 : polls < FAST_POLLS ? 300 : 2_500);
    polls += answer.kind === 'nothing' ? 0 : 1;
  }
}

/** Whether everything can be made: the service answers, and no model is offline. */
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

import { setTimeout as delay } from 'node:timers/promises';

const ANSWER_TIMEOUT_MS = 5_000;

/** How a service answers at an address now. */
export type Answer =
  | { kind: 'nothing' }
  | { kind: 'stranger'; what: string }
  | { kind: 'service'; version: string; models: { slug: string; status: string }[] };

interface Body {
  status?: unknown;
  version?: string;
  data?: { slug: string; status: string }[];
}

/** Asks whatever listens at an address whether it is this service, and how its models are. */
export async function askService(address: string): Promise<Answer> {
  let health: Response;
  try {
    health = await get(`${address}/api/health/`);
  } catch {
    return { kind: 'nothing' };
  }
  const { status, version } = await bodyOf(health);
  if (status !== 'ok') return { kind: 'stranger', what: `status ${health.status} for /api/health/` };
  const { data } = await get(`${address}/api/models/`).then(bodyOf, (): Body => ({}));
  return { kind: 'service', version: version ?? '', models: data ?? [] };
}

/**
 * Waits until the service answers and all of its models are online.
 * @param isOver ends the wait before its time.
 * @returns the last answer, whatever it was by then.
 */
export async function waitForService(address: string, timeoutMs: number, isOver: () => boolean): Promise<Answer> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await askService(address);
    if (isReady(answer) || isOver() || performance.now() > deadline) return answer;
    // Only what was answered counts against the limits of the public endpoints.
    await delay(answer.kind === 'nothing' ? 100 : 700);
  }
}

/** Whether everything can be made: the service answers, and every model is online. */
export function isReady(answer: Answer): boolean {
  return (
    answer.kind === 'service' && answer.models.length > 0 && answer.models.every(({ status }) => status === 'online')
  );
}

function get(url: string): Promise<Response> {
  return fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS), redirect: 'manual' });
}

async function bodyOf(response: Response): Promise<Body> {
  try {
    const body: Body | null = JSON.parse(await response.text());
    return body ?? {};
  } catch {
    return {};
  }
}

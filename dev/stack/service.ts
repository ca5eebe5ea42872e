import { setTimeout as delay } from 'node:timers/promises';

/** So many questions come quickly after each other: a service that is well is ready within seconds. */
const EAGER = 10;
const ANSWER_TIMEOUT_MS = 5_000;

/** How a service answers at an address now. */
export type Answer =
  | { kind: 'nothing' }
  | { kind: 'stranger'; what: string }
  | { kind: 'service'; version: string; models: ModelState[] };

export interface ModelState {
  slug: string;
  status: string;
  /** Who makes it. */
  provider: string;
}

interface Body {
  status?: unknown;
  version?: string;
  error?: string;
  data?: ModelState[];
}

/** Asks whatever listens at an address whether it is this service, and how its models are. */
export async function askService(address: string): Promise<Answer> {
  let health: Response;
  try {
    health = await get(`${address}/api/health/`);
  } catch {
    return { kind: 'nothing' };
  }
  const { status, version, error } = await bodyOf(health);
  // Asked too often, by us or by others from here: it is there all the same.
  if (error === 'rate_limited') return { kind: 'service', version: '', models: [] };
  if (status !== 'ok') return { kind: 'stranger', what: `status ${health.status} for /api/health/` };
  const { data } = await get(`${address}/api/models/`).then(bodyOf, (): Body => ({}));
  return { kind: 'service', version: version ?? '', models: data ?? [] };
}

/**
 * Waits until the service answers and all of its models can be had.
 * @param isOver ends the wait before its time.
 * @returns the last answer, whatever it was by then.
 */
export async function waitForService(address: string, timeoutMs: number, isOver: () => boolean): Promise<Answer> {
  const deadline = performance.now() + timeoutMs;
  let asked = 0;
  for (;;) {
    const answer = await askService(address);
    if (isReady(answer) || isOver() || performance.now() > deadline) return answer;
    // Only what was answered counts against the limits of the public endpoints, which are there for others, too.
    await delay(answer.kind === 'nothing' ? 100 : asked < EAGER ? 300 : 2_500);
    asked += answer.kind === 'nothing' ? 0 : 1;
  }
}

/** Whether everything can be made: the service answers, and no model is offline. */
export function isReady(answer: Answer): boolean {
  return (
    answer.kind === 'service' && answer.models.length > 0 && answer.models.every(({ status }) => status !== 'offline')
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

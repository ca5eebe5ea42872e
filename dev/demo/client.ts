import { setTimeout as delay } from 'node:timers/promises';

const RESPONSE_TIMEOUT_MS = 30_000;
const MAX_ATTEMPTS = 5;

/** An error response of the service, with its error code. */
export class DemoRequestError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(status: number, code: string, detail: string) {
    super(`${detail} (${status} ${code})`);
    this.code = code;
    this.status = status;
  }
}

/** Uses the service over HTTP, as any client would. */
export interface DemoClient {
  get<Answer>(path: string): Promise<Answer>;
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
  /** Uses this API key instead of the session cookie from now on. */
  useKey(key: string): void;
}

/** Creates a client for a service. On 429 it waits for as long as `Retry-After` says. */
export function createDemoClient(baseUrl: string, onWait: (seconds: number) => void): DemoClient {
  let cookie: string | null = null;
  let apiKey: string | null = null;

  async function send<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers: headers(method),
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      });
      const text = await response.text();
      if (response.status === 429 && attempt < MAX_ATTEMPTS) {
        const seconds = Number(response.headers.get('retry-after') ?? 2 ** attempt);
        onWait(seconds);
        await delay(seconds * 1_000);
        continue;
      }
      if (!response.ok) throw parseErrorResponse(response.status, text);
      const token = response.headers.getSetCookie().find((line) => line.startsWith('token='));
      if (token !== undefined) cookie = token.split(';')[0]!;
      const reply: Answer = JSON.parse(text);
      return reply;
    }
  }

  function headers(method: string): Record<string, string> {
    const always = { 'content-type': 'application/json' };
    if (apiKey !== null) return { ...always, authorization: `Bearer ${apiKey}` };
    if (cookie === null) return always;
    // With a session cookie, changes must come from the service's own origin.
    return method === 'GET' ? { ...always, cookie } : { ...always, cookie, origin: new URL(baseUrl).origin };
  }

  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    useKey: (key) => (apiKey = key),
  };
}

function parseErrorResponse(status: number, text: string): DemoRequestError {
  try {
    const { error, detail }: { error: string; detail: string } = JSON.parse(text);
    return new DemoRequestError(status, error, detail);
  } catch {
    return new DemoRequestError(status, 'no envelope', `The response is not from this service: ${text.slice(0, 100)}`);
  }
}

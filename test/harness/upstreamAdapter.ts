import { randomUUID } from 'node:crypto';
import { describedUpstream } from '../../shared/gateways/upstreams/described/describedUpstream.ts';
import { falUpstream } from '../../shared/gateways/upstreams/fal.ts';
import type { AdapterName } from '../../shared/gateways/upstreams/modelPresets.ts';
import { openaiUpstream } from '../../shared/gateways/upstreams/openai.ts';
import { replicateUpstream } from '../../shared/gateways/upstreams/replicate.ts';
import type {
  SubmitImage,
  SubmitRequest,
  SubmitResult,
  Upstream,
  UpstreamError,
  UpstreamHandle,
} from '../../shared/gateways/upstreams/upstream.ts';
import type { UpstreamRoute } from '../../shared/gateways/upstreams/upstreamConfig.ts';
import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import type { FakeUpstream } from '../fakes/fakeUpstream.ts';
import type { ScriptedServer } from '../fakes/scriptedServer.ts';
import { setTestConfig } from './testConfig.ts';

/** Messages that customers see. */
export const NOT_ALLOWED = "The model's content policy does not allow this. Please change the prompt and try again.";
export const BLOCKED = 'The provider refused this request. Please change the prompt and try again.';
export const BROKE_DOWN = 'The model failed while generating. Please try again.';
export const NOT_MADE = 'The model could not generate this.';
export const NO_OUTPUT = { state: 'failed', message: 'The model returned no output.' } as const;

const ADAPTERS = { fal: falUpstream, http: describedUpstream, openai: openaiUpstream, replicate: replicateUpstream };

/**
 * Registers hooks of a suite: upstreams have a timeout of a second, and the servers run and are as new before each
 * test.
 */
export function useServers(...servers: (FakeUpstream | ScriptedServer)[]): void {
  before(async () => {
    setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
    await Promise.all(servers.map((server) => server.start()));
  });
  after(() => Promise.all(servers.map((server) => server.stop())));
  beforeEach(() => {
    for (const server of servers) {
      server.reset();
      server.requests.length = 0;
    }
  });
}

/** Builds the adapter of a {@link buildRoute}. */
export function buildUpstream(...route: Parameters<typeof buildRoute>): Upstream {
  return ADAPTERS[route[0]](buildRoute(...route));
}

/** Builds a route to an upstream with the key `test`. */
export function buildRoute(
  adapter: AdapterName,
  kind: ModelKind,
  modelId: string,
  settings: Partial<UpstreamSettings> & { baseUrl: string },
): UpstreamRoute {
  const limits = { concurrency: null, perMinute: null, isLocal: false, acceptsForm: false };
  return {
    model: kind === 'video' ? 'vidmodel-video' : 'imgmodel-2',
    kind,
    modelId,
    modelSettings: { input: {} },
    optionalParams: [],
    inputs: {},
    outputs: undefined,
    upstream: { name: adapter, adapter, key: 'test', ...limits, ...settings },
  };
}

/** Builds a generation to submit, with a new prompt unless the input has one. */
export function buildSubmission({
  input = {},
  deadlineMs = 60_000,
  newFile = () => Promise.reject(new Error('no file is needed')),
}: {
  input?: Record<string, unknown>;
  deadlineMs?: number;
  newFile?: SubmitRequest['newFile'];
} = {}) {
  const prompt = `a "lighthouse"\r\n${randomUUID()} é 灯`;
  const deadlineAt = new Date(Date.now() + deadlineMs);
  return { generationId: randomUUID(), input: { prompt, ...input }, deadlineAt, newFile };
}

/** Builds an image of an input. */
export function buildInputImage(name: string, role: SubmitImage['role'] = 'reference'): SubmitImage {
  const content = Buffer.from(`content of ${name}`);
  return {
    url: `https://images/${name}`,
    contentType: 'image/png',
    role,
    bytes: content.length,
    read: async () => [content],
  };
}

/** Returns the handle of a submission that must be accepted. */
export function getHandle(submission: SubmitResult): UpstreamHandle {
  if (submission.state !== 'accepted') throw new Error(`Not accepted: ${JSON.stringify(submission)}`);
  return submission.handle;
}

/** Builds the handle of a request `r1` of the app `owner/app` in fal's queue. */
export function buildFalHandle(url: string): UpstreamHandle {
  const address = `${url}/owner/app/requests/r1`;
  return { request_id: 'r1', status_url: `${address}/status`, response_url: address, cancel_url: `${address}/cancel` };
}

/** Returns the error of a call, which must be an UpstreamError. */
export async function captureUpstreamError(call: Promise<unknown>): Promise<UpstreamError> {
  try {
    const result = await call;
    throw new Error(`Nothing was thrown, but this returned: ${JSON.stringify(result)}`);
  } catch (error) {
    if ((error as Error).name !== 'UpstreamError') throw error;
    return error as UpstreamError;
  }
}

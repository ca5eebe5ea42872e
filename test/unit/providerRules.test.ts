import { expect } from 'chai';
import { PROVIDERS } from '../../shared/gateways/upstreams/providers/index.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import {
  type AdapterFactory,
  BROKE_DOWN,
  buildRoute,
  buildSubmission,
  captureUpstreamError,
  loadAdapter,
  NOT_ALLOWED,
} from '../harness/upstreamAdapter.ts';

const OPERATION = 'models/veo/operations/1';
const google = (code: number, status: string, details: object[] = []) => ({
  error: { code, status, message: 'About the request.', details },
});
const FAILED = { state: 'failed', message: BROKE_DOWN };
const ark = (code: string) => ({ error: { code, message: 'About the request.' } });
const ended = (error: object) => ({ name: OPERATION, done: true, error });

/** Responses to submits: provider, kind, path, status, body, and what the adapter reports. */
const SUBMITS: [string, ModelKind, string, number, object, object][] = [
  ['gemini', 'video', '/models/m:predictLongRunning', 400, google(400, 'INVALID_ARGUMENT'), { fault: 'rejected' }],
  [
    'gemini',
    'video',
    '/models/m:predictLongRunning',
    400,
    google(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]),
    { fault: 'unavailable', isAccountError: true },
  ],
  [
    'gemini',
    'video',
    '/models/m:predictLongRunning',
    400,
    google(400, 'FAILED_PRECONDITION'),
    { fault: 'unavailable', isAccountError: true },
  ],
  [
    'gemini',
    'image',
    '/models/m:generateContent',
    429,
    google(429, 'RESOURCE_EXHAUSTED', [{ retryDelay: '34.5s' }]),
    { fault: 'unavailable', isAccountError: false, retryAfterMs: 34_500 },
  ],
  ['gemini', 'image', '/models/m:generateContent', 503, google(503, 'UNAVAILABLE'), { fault: 'unavailable' }],
  [
    'gemini',
    'image',
    '/models/m:generateContent',
    200,
    { candidates: [{ finishReason: 'IMAGE_PROHIBITED_CONTENT' }] },
    { fault: 'rejected', message: NOT_ALLOWED },
  ],
  ['modelark', 'video', '/contents/generations/tasks', 400, ark('InvalidParameter'), { fault: 'rejected' }],
  [
    'modelark',
    'video',
    '/contents/generations/tasks',
    400,
    ark('InputImageSensitiveContentDetected.PrivacyInformation'),
    { fault: 'rejected', message: NOT_ALLOWED },
  ],
  [
    'modelark',
    'video',
    '/contents/generations/tasks',
    403,
    ark('AccountOverdueError'),
    { fault: 'unavailable', isAccountError: true },
  ],
  [
    'modelark',
    'image',
    '/images/generations',
    404,
    ark('ModelNotOpen'),
    { fault: 'unavailable', isAccountError: true },
  ],
  [
    'modelark',
    'image',
    '/images/generations',
    429,
    ark('ServerOverloaded'),
    { fault: 'unavailable', isAccountError: false },
  ],
  [
    'xai',
    'image',
    '/images/generations',
    400,
    { code: 'invalid', error: 'Incorrect API key provided: xa***ab.' },
    { fault: 'unavailable', isAccountError: true },
  ],
  [
    'xai',
    'image',
    '/images/generations',
    200,
    { block_reason: 'Blocked.', data: [] },
    { fault: 'rejected', message: NOT_ALLOWED },
  ],
  [
    'xai',
    'video',
    '/videos/generations',
    403,
    { code: 'denied', error: 'Content violates usage guidelines. Team: t, API key ID: k' },
    { fault: 'rejected', message: NOT_ALLOWED },
  ],
  [
    'xai',
    'video',
    '/videos/generations',
    403,
    { code: 'denied', error: 'Your team has used all available credits.' },
    { fault: 'unavailable', isAccountError: true },
  ],
  ['xai', 'video', '/videos/generations', 429, { error: 'Too many requests.' }, { fault: 'unavailable' }],
];

/** Responses to polls of videos: provider, id, path, body, and what the adapter reports. */
const POLLS: [string, string, string, object, object][] = [
  ['gemini', OPERATION, `/${OPERATION}`, { name: OPERATION, metadata: {} }, { state: 'running' }],
  ['gemini', OPERATION, `/${OPERATION}`, ended({ code: 13, message: 'Internal.' }), FAILED],
  ['gemini', OPERATION, `/${OPERATION}`, ended({ code: 7, message: 'Denied.' }), FAILED],
  ['gemini', OPERATION, `/${OPERATION}`, ended({ code: 3, message: 'Bad.' }), { state: 'failed', message: 'Bad.' }],
  ['modelark', 't1', '/contents/generations/tasks/t1', { status: 'queued' }, { state: 'running', isWaiting: true }],
  ['modelark', 't1', '/contents/generations/tasks/t1', { status: 'failed', ...ark('AccountOverdueError') }, FAILED],
  [
    'modelark',
    't1',
    '/contents/generations/tasks/t1',
    { status: 'expired', error: null },
    { state: 'failed', message: 'The model could not generate this.' },
  ],
  ['xai', 'r1', '/videos/r1', { status: 'pending', progress: 7 }, { state: 'running', progress: '7' }],
  [
    'xai',
    'r1',
    '/videos/r1',
    { status: 'failed', error: { code: 'x', message: 'Bad.' } },
    { state: 'failed', message: 'Bad.' },
  ],
];

describe('the rules of the providers whose descriptions come with the service', () => {
  const server = new ScriptedServer();
  let create: AdapterFactory;
  before(async () => {
    create = await loadAdapter('http');
    await server.start();
  });
  after(() => server.stop());

  const upstream = (provider: string, kind: ModelKind) =>
    create(buildRoute('http', kind, 'm', { baseUrl: server.url, protocol: PROVIDERS[provider]!.protocol }));

  for (const [provider, kind, path, status, body, expected] of SUBMITS) {
    it(`of ${provider}: a submit with ${status} ${JSON.stringify(body)}`, async () => {
      server.on(`POST ${path}`, { status, body });
      expect(await captureUpstreamError(upstream(provider, kind).submit(buildSubmission()))).to.include(expected);
    });
  }

  for (const [provider, id, path, body, expected] of POLLS) {
    it(`of ${provider}: a poll with ${JSON.stringify(body)}`, async () => {
      server.on(`GET ${path}`, { status: 200, body });
      expect(await upstream(provider, 'video').poll({ id })).to.deep.equal(expected);
    });
  }

  it('of xai: keeps the images that moderation does not block', async () => {
    const data = [{ url: 'https://cdn/1' }, { url: null, respect_moderation: false }, { url: 'https://cdn/3' }];
    server.on('POST /images/generations', { status: 200, body: { data } });
    expect(await upstream('xai', 'image').submit(buildSubmission())).to.deep.include({
      state: 'succeeded',
      outputs: [{ url: 'https://cdn/1' }, { url: 'https://cdn/3' }],
      filtered: 1,
    });
  });

  it('of minimax and modelark: count the images that moderation blocks', async () => {
    const counted = { data: { image_urls: ['https://cdn/1'] }, metadata: { success_count: '1', failed_count: '3' } };
    server.on('POST /image_generation', { status: 200, body: counted });
    expect(await upstream('minimax', 'image').submit(buildSubmission())).to.deep.include({ filtered: 3 });
    const blocked = { error: { code: 'OutputImageSensitiveContentDetected' } };
    const broken = { error: { code: 'InternalServiceError' } };
    const body = { data: [{ url: 'https://cdn/1' }, blocked, broken] };
    server.on('POST /images/generations', { status: 200, body });
    expect(await upstream('modelark', 'image').submit(buildSubmission())).to.deep.include({ filtered: 1 });
  });
});

import { expect } from 'chai';
import { PROVIDERS } from '../../shared/gateways/upstreams/providers/index.ts';
import type { ModelKind } from '../../shared/spec/catalog.ts';
import { ScriptedServer } from '../fakes/scriptedServer.ts';
import {
  BROKE_DOWN,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  NOT_ALLOWED,
  NOT_MADE,
  useServers,
} from '../harness/upstreamAdapter.ts';

const ACCOUNT = { fault: 'unavailable', isAccountError: true };
const BUSY = { fault: 'unavailable', isAccountError: false };
const POLICY = { fault: 'rejected', message: NOT_ALLOWED };
const UNAVAILABLE = { fault: 'unavailable' };
const rejected = (message: string) => ({ fault: 'rejected', message });
const failed = (message: string) => ({ state: 'failed', message });

const google = (code: number, status: string, details: object[] = []) => ({
  error: { code, status, message: 'About the request.', details },
});
const ark = (code: string) => ({ error: { code, message: 'About the request.' } });
const xai = (error: string) => ({ code: 'denied', error });
const miniMax = (code: number, message: string) => ({ base_resp: { status_code: code, status_msg: message } });
const OPERATION = 'models/veo/operations/1';
const ended = (error: object) => ({ name: OPERATION, done: true, error });

/** Addresses of submits, by provider and kind. */
const SUBMIT_PATHS: Record<string, string> = {
  'gemini video': '/models/m:predictLongRunning',
  'gemini image': '/models/m:generateContent',
  'kling video': '/videos/text2video',
  'luma video': '/generations',
  'minimax image': '/image_generation',
  'minimax video': '/video_generation',
  'modelark video': '/contents/generations/tasks',
  'modelark image': '/images/generations',
  'runway video': '/text_to_video',
  'xai image': '/images/generations',
  'xai video': '/videos/generations',
};

const KEY_INVALID = google(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]);
const DELAY = google(429, 'RESOURCE_EXHAUSTED', [{ retryDelay: '34.5s' }]);
const PRIVATE = ark('InputImageSensitiveContentDetected.PrivacyInformation');

/** Responses to submits, and what the adapter reports. */
const SUBMITS: [target: string, status: number, body: object, expected: object][] = [
  ['gemini video', 400, google(400, 'INVALID_ARGUMENT'), { fault: 'rejected' }],
  ['gemini video', 400, KEY_INVALID, ACCOUNT],
  ['gemini video', 400, google(400, 'FAILED_PRECONDITION'), ACCOUNT],
  ['gemini image', 429, DELAY, { ...BUSY, retryAfterMs: 34_500 }],
  ['gemini image', 503, google(503, 'UNAVAILABLE'), UNAVAILABLE],
  ['gemini image', 200, { candidates: [{ finishReason: 'IMAGE_PROHIBITED_CONTENT' }] }, POLICY],
  ['kling video', 429, { code: 1101, message: 'in arrears' }, ACCOUNT],
  ['kling video', 429, { code: 1303, message: 'too many tasks' }, BUSY],
  ['kling video', 400, { code: 1300, message: 'platform policy' }, POLICY],
  ['kling video', 400, { code: 1201, message: 'No mode.' }, rejected('No mode.')],
  ['luma video', 402, { detail: 'Insufficient balance' }, ACCOUNT],
  ['luma video', 403, { detail: 'Access denied' }, ACCOUNT],
  ['luma video', 413, { detail: 'Too large.' }, rejected('Too large.')],
  ['luma video', 429, { detail: 'Too many concurrent jobs' }, BUSY],
  ['minimax video', 200, miniMax(1002, 'rate limit'), BUSY],
  ['minimax video', 200, miniMax(1008, 'insufficient balance'), ACCOUNT],
  ['minimax video', 200, miniMax(1026, 'sensitive'), POLICY],
  ['minimax video', 200, miniMax(2013, 'No size.'), rejected('No size.')],
  ['minimax video', 200, miniMax(1001, 'timeout'), { fault: 'unknown' }],
  ['modelark video', 400, ark('InvalidParameter'), { fault: 'rejected' }],
  ['modelark video', 400, PRIVATE, POLICY],
  ['modelark video', 403, ark('AccountOverdueError'), ACCOUNT],
  ['modelark image', 404, ark('ModelNotOpen'), ACCOUNT],
  ['modelark image', 429, ark('ServerOverloaded'), BUSY],
  ['runway video', 400, { error: 'You do not have enough credits to run this task.' }, ACCOUNT],
  ['runway video', 400, { error: 'Invalid', issues: [{ message: 'Too long.' }] }, rejected('Too long.')],
  ['xai image', 400, xai('Incorrect API key provided: xa***ab.'), ACCOUNT],
  ['xai image', 200, { block_reason: 'Blocked.', data: [] }, POLICY],
  ['xai video', 403, xai('Content violates usage guidelines. Team: t, API key ID: k'), POLICY],
  ['xai video', 403, xai('Your team has used all available credits.'), ACCOUNT],
  ['xai video', 429, { error: 'Too many requests.' }, UNAVAILABLE],
];

const [ARK_TASK, MINIMAX_TASK] = ['/contents/generations/tasks/t1', '/query/video_generation?task_id=t1'];
const MODERATED = { status: 'FAILED', failureCode: 'SAFETY.OUTPUT.VIDEO', failure: 'Moderated' };

/** Responses to polls of videos, and what the adapter reports. */
const POLLS: [provider: string, id: string, path: string, body: object, expected: object][] = [
  ['gemini', OPERATION, `/${OPERATION}`, { name: OPERATION, metadata: {} }, { state: 'running' }],
  ['gemini', OPERATION, `/${OPERATION}`, ended({ code: 13, message: 'Internal.' }), failed(BROKE_DOWN)],
  ['gemini', OPERATION, `/${OPERATION}`, ended({ code: 7, message: 'Denied.' }), failed(BROKE_DOWN)],
  ['gemini', OPERATION, `/${OPERATION}`, ended({ code: 3, message: 'Bad.' }), failed('Bad.')],
  [
    'kling',
    't1',
    '/videos/text2video/t1',
    { data: { task_status: 'failed', task_status_msg: 'Odd.' } },
    failed('Odd.'),
  ],
  ['luma', 't1', '/generations/t1', { state: 'failed', failure_code: 'budget_exhausted' }, failed(BROKE_DOWN)],
  ['luma', 't1', '/generations/t1', { state: 'failed', failure_code: 'content_moderated' }, failed(NOT_ALLOWED)],
  ['minimax', 't1', MINIMAX_TASK, { status: 'Fail', ...miniMax(0, 'success') }, failed(BROKE_DOWN)],
  ['minimax', 't1', MINIMAX_TASK, { status: 'Fail', ...miniMax(1027, 'sensitive') }, failed(NOT_ALLOWED)],
  ['modelark', 't1', ARK_TASK, { status: 'queued' }, { state: 'running', isWaiting: true }],
  ['modelark', 't1', ARK_TASK, { status: 'failed', ...ark('AccountOverdueError') }, failed(BROKE_DOWN)],
  ['modelark', 't1', ARK_TASK, { status: 'expired', error: null }, failed(NOT_MADE)],
  ['runway', 't1', '/tasks/t1', MODERATED, failed(NOT_ALLOWED)],
  ['xai', 'r1', '/videos/r1', { status: 'pending', progress: 7 }, { state: 'running', progress: '7' }],
  ['xai', 'r1', '/videos/r1', { status: 'failed', error: { code: 'x', message: 'Bad.' } }, failed('Bad.')],
];

describe('the rules of the providers whose descriptions come with the service', () => {
  const server = new ScriptedServer();
  useServers(server);

  const upstream = (provider: string, kind: ModelKind) => {
    const { protocol } = PROVIDERS[provider] as (typeof PROVIDERS)[string];
    return buildUpstream('http', kind, 'm', { baseUrl: server.url, protocol, keyId: 'id' });
  };
  const submitTo = (target: string, status: number, body: object) => {
    const [provider = '', kind] = target.split(' ');
    server.on(`POST ${SUBMIT_PATHS[target]}`, { status, body });
    return upstream(provider, kind as ModelKind).submit(buildSubmission());
  };

  for (const [target, status, body, expected] of SUBMITS) {
    it(`of ${target}: a submit with ${status} ${JSON.stringify(body)}`, async () => {
      expect(await captureUpstreamError(submitTo(target, status, body))).to.include(expected);
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
    const outputs = [{ url: 'https://cdn/1' }, { url: 'https://cdn/3' }];
    const expected = { state: 'succeeded', outputs, filtered: 1 };
    expect(await submitTo('xai image', 200, { data })).to.deep.include(expected);
  });

  it('of minimax and modelark: count the images that moderation blocks', async () => {
    const counted = { data: { image_urls: ['https://cdn/1'] }, metadata: { success_count: '1', failed_count: '3' } };
    expect(await submitTo('minimax image', 200, counted)).to.deep.include({ filtered: 3 });
    const [blocked, broken] = [ark('OutputImageSensitiveContentDetected'), ark('InternalServiceError')];
    const body = { data: [{ url: 'https://cdn/1' }, blocked, broken] };
    expect(await submitTo('modelark image', 200, body)).to.deep.include({ filtered: 1 });
  });
});

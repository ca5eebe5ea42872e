import { expect } from 'chai';
import { PROVIDERS } from '../../shared/gateways/upstreams/providers/index.ts';
import type { Upstream } from '../../shared/gateways/upstreams/upstream.ts';
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

const ACCOUNT = { fault: 'unavailable', isAccountError: true };
const BUSY = { fault: 'unavailable', isAccountError: false };
const POLICY = { fault: 'rejected', message: NOT_ALLOWED };
const failed = (message: string) => ({ state: 'failed', message });
const miniMax = (code: number, message: string) => ({ base_resp: { status_code: code, status_msg: message } });

describe('the error rules of providers', () => {
  const server = new ScriptedServer();
  let create: AdapterFactory;
  before(async () => {
    create = await loadAdapter('http');
    await server.start();
  });
  after(() => server.stop());
  beforeEach(() => server.clear());

  function getUpstream(provider: string): Upstream {
    const protocol = PROVIDERS[provider]?.protocol;
    return create(buildRoute('http', 'video', 'model', { baseUrl: server.url, protocol, keyId: 'id' }));
  }

  for (const [provider, path, status, body, expected] of [
    ['kling', '/videos/text2video', 429, { code: 1101, message: 'in arrears' }, ACCOUNT],
    ['kling', '/videos/text2video', 429, { code: 1303, message: 'too many tasks' }, BUSY],
    ['kling', '/videos/text2video', 400, { code: 1300, message: 'platform policy' }, POLICY],
    [
      'kling',
      '/videos/text2video',
      400,
      { code: 1201, message: 'No mode.' },
      { fault: 'rejected', message: 'No mode.' },
    ],
    ['luma', '/generations', 402, { detail: 'Insufficient balance' }, ACCOUNT],
    ['luma', '/generations', 403, { detail: 'Access denied' }, ACCOUNT],
    ['luma', '/generations', 413, { detail: 'Too large.' }, { fault: 'rejected', message: 'Too large.' }],
    ['luma', '/generations', 429, { detail: 'Too many concurrent jobs' }, BUSY],
    ['minimax', '/video_generation', 200, miniMax(1002, 'rate limit'), BUSY],
    ['minimax', '/video_generation', 200, miniMax(1008, 'insufficient balance'), ACCOUNT],
    ['minimax', '/video_generation', 200, miniMax(1026, 'sensitive'), POLICY],
    ['minimax', '/video_generation', 200, miniMax(2013, 'No size.'), { fault: 'rejected', message: 'No size.' }],
    ['minimax', '/video_generation', 200, miniMax(1001, 'timeout'), { fault: 'unknown' }],
    ['runway', '/text_to_video', 400, { error: 'You do not have enough credits to run this task.' }, ACCOUNT],
    [
      'runway',
      '/text_to_video',
      400,
      { error: 'Validation of body failed', issues: [{ message: 'Too long.' }] },
      { fault: 'rejected', message: 'Too long.' },
    ],
  ] as const) {
    it(`report ${JSON.stringify(expected)} for a submit to ${provider} with ${status} ${JSON.stringify(body)}`, async () => {
      server.on(`POST ${path}`, { status, body });
      expect(await captureUpstreamError(getUpstream(provider).submit(buildSubmission()))).to.include(expected);
    });
  }

  for (const [provider, path, body, expected] of [
    ['kling', '/videos/text2video/j1', { data: { task_status: 'failed', task_status_msg: 'Odd.' } }, failed('Odd.')],
    ['luma', '/generations/j1', { state: 'failed', failure_code: 'budget_exhausted' }, failed(BROKE_DOWN)],
    ['luma', '/generations/j1', { state: 'failed', failure_code: 'content_moderated' }, failed(NOT_ALLOWED)],
    ['minimax', '/query/video_generation?task_id=j1', { status: 'Fail', ...miniMax(0, 'success') }, failed(BROKE_DOWN)],
    [
      'minimax',
      '/query/video_generation?task_id=j1',
      { status: 'Fail', ...miniMax(1027, 'sensitive') },
      failed(NOT_ALLOWED),
    ],
    [
      'runway',
      '/tasks/j1',
      { status: 'FAILED', failureCode: 'SAFETY.OUTPUT.VIDEO', failure: 'Moderated' },
      failed(NOT_ALLOWED),
    ],
  ] as const) {
    it(`report "${expected.message}" for a run of ${provider} with ${JSON.stringify(body)}`, async () => {
      server.on(`GET ${path}`, { status: 200, body });
      expect(await getUpstream(provider).poll({ id: 'j1' })).to.deep.equal(expected);
    });
  }
});

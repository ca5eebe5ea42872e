import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
import type { VerbatimResponse } from '../fakes/misbehave.ts';
import { PREDICTIONS } from '../fakes/providers/predictions.ts';

/** Differences between the protocols: addresses, and the bodies of their responses. */
export interface AdapterCase {
  name: 'fal' | 'replicate' | 'openai' | 'http';
  settings?: Partial<UpstreamSettings>;
  path: string;
  authorization: string;
  /** The operation that serves the probe. */
  probe: 'status' | 'probe';
  /** Response to an accepted submit. */
  receipt: (id: unknown, url: string) => object;
  receiptStatus: number;
  /** States of a job that has not ended, unknown ones included. */
  runningStatuses: string[];
  /** The operation that returns the output. */
  outputOperation: 'status' | 'result';
  /** Location of the output of a job, and the headers for it. */
  output: (url: string, id: string) => { url: string; headers?: Record<string, string> };
  /** A duration, which makes it a video where the input distinguishes them. */
  input?: { duration: unknown };
  /** Responses to a cancellation that confirm that the generation did not run. */
  confirms: VerbatimResponse[];
  /** Other responses to a cancellation. */
  leavesOpen: VerbatimResponse[];
}

const canceled = (body: unknown, status = 200): VerbatimResponse => ({ status, body });
const STARTED = '2026-11-21T09:30:00Z';

export const CASES: AdapterCase[] = [
  {
    name: 'fal',
    path: '',
    authorization: 'Key test',
    probe: 'status',
    receipt: (id, url) => {
      const address = `${url}/owner/name/requests/r1`;
      const urls = { status_url: `${address}/status`, response_url: address, cancel_url: `${address}/cancel` };
      return { request_id: id, ...urls };
    },
    receiptStatus: 200,
    runningStatuses: ['IN_QUEUE', 'IN_PROGRESS'],
    outputOperation: 'result',
    output: (url, id) => ({ url: `${url}/files/${id}.mp4` }),
    input: { duration: '5' },
    confirms: [canceled({ status: 'OK' })],
    leavesOpen: [
      canceled({ status: 'CANCELLATION_REQUESTED' }, 202),
      canceled({ status: 'OK' }, 202),
      canceled({ status: 'CANCELLATION_REQUESTED' }),
      canceled({}),
      canceled({ status: 'ALREADY_COMPLETED' }, 400),
      canceled({ status: 'NOT_FOUND' }, 404),
    ],
  },
  {
    name: 'replicate',
    path: '/v1',
    authorization: 'Bearer test',
    probe: 'probe',
    receipt: (id) => ({ id, status: 'starting' }),
    receiptStatus: 201,
    outputOperation: 'status',
    runningStatuses: ['starting', 'processing', 'queued', 'a word of tomorrow'],
    output: (url, id) => ({ url: `${url}/files/${id}.mp4`, headers: { authorization: 'Bearer test' } }),
    input: { duration: 5 },
    confirms: [canceled({ status: 'canceled', started_at: null }), canceled({ status: 'aborted', started_at: null })],
    leavesOpen: [
      canceled({ status: 'canceled' }),
      canceled({ status: 'canceled', started_at: STARTED }),
      canceled({ status: 'starting', started_at: null }),
      canceled({ status: 'failed', started_at: null }),
      canceled({ status: 'canceled', started_at: null }, 404),
    ],
  },
  {
    name: 'openai',
    path: '/v1',
    authorization: 'Bearer test',
    probe: 'probe',
    receipt: (id) => ({ id, status: 'queued' }),
    receiptStatus: 200,
    outputOperation: 'status',
    runningStatuses: ['queued', 'in_progress', 'rendering'],
    output: (url, id) => ({ url: `${url}/v1/videos/${id}/content`, headers: { authorization: 'Bearer test' } }),
    confirms: [],
    leavesOpen: [
      canceled({ id: 'x', object: 'video.deleted', deleted: true }),
      canceled({ status: 'cancelled' }),
      canceled({}, 404),
    ],
  },
  {
    name: 'http',
    settings: { protocol: PREDICTIONS },
    path: '/v1',
    authorization: 'Bearer test',
    probe: 'probe',
    receipt: (id) => ({ id, status: 'starting' }),
    receiptStatus: 201,
    outputOperation: 'status',
    runningStatuses: ['starting', 'processing', 'queued', 'a word of tomorrow'],
    output: (url, id) => ({ url: `${url}/files/${id}.mp4`, headers: { authorization: 'Bearer test' } }),
    input: { duration: 5 },
    confirms: [canceled({ status: 'canceled', started_at: null }), canceled({ status: 'canceled' })],
    leavesOpen: [
      canceled({ status: 'canceled', started_at: STARTED }),
      canceled({ status: 'starting', started_at: null }),
      canceled({ status: 'canceled', started_at: null }, 404),
    ],
  },
];

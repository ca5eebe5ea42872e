import type { UpstreamSettings } from '../../shared/gateways/upstreams/upstreamSettings.ts';
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
}

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
  },
];

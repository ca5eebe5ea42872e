import type { KindProtocol, Protocol } from '../../../shared/gateways/upstreams/described/protocol.ts';

const PREDICTION: KindProtocol = {
  submit: {
    path: '/models/{model}/predictions',
    input: 'input',
    body: { webhook: '$callback_url' },
    id: '/id',
  },
  poll: {
    path: '/predictions/{id}',
    state: '/status',
    states: {
      starting: 'queued',
      processing: 'running',
      succeeded: 'succeeded',
      failed: 'failed',
      canceled: 'canceled',
    },
    output: { at: ['/output', '/output/*'] },
  },
  cancel: {
    method: 'POST',
    path: '/predictions/{id}/cancel',
    confirmed: [{ status: 200, at: '/status', is: ['canceled'], absent: '/started_at' }],
  },
};

/** Description of the predictions that `FakeUpstream` has at `/v1`, for the tests of what all adapters promise. */
export const PREDICTIONS: Protocol = {
  auth: { type: 'bearer' },
  errors: [{ at: '/invalid_fields/*/description', is: ['*sensitive*'], means: 'policy' }],
  error_text: ['/invalid_fields/*/description', '/detail/*/msg', '/detail', '/error'],
  files: { auth: true },
  probe: { path: '/models/{model}' },
  callback: { signature: 'standard_webhooks', id: '/id' },
  video: PREDICTION,
  image: PREDICTION,
};

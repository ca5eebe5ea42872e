import type { KindProtocol, ProviderDescription } from '../described/protocol.ts';

const POLL: KindProtocol['poll'] = {
  path: '/generations/{id}',
  state: '/state',
  states: { queued: 'queued', processing: 'running', completed: 'succeeded', failed: 'failed' },
  output: { at: ['/output/*/url'], expires_seconds: 3_600 },
};

/**
 * Luma Agents, the API of Ray 3.2 and Uni-1: https://docs.agents.lumalabs.ai, and the types of lumalabs/luma-agents-python.
 * It has neither cancellations nor call-backs. The older API of Dream Machine is another one.
 */
export const luma: ProviderDescription = {
  base_url: 'https://agents.lumalabs.ai/v1',
  protocol: {
    auth: { type: 'bearer' },
    errors: [
      { at: '/failure_code', is: ['content_moderated'], means: 'policy' },
      // The reasons of these say more about our account, or about Luma, than about the request.
      {
        at: '/failure_code',
        is: ['budget_exhausted', 'rate_limited', 'generation_failed', 'output_not_found'],
        means: 'broken',
      },
      { status: 403, means: 'account' },
      { status: 413, means: 'rejected' },
    ],
    error_text: ['/failure_reason', '/detail', '/detail/*/msg'],
    // A generation that does not exist: no other request without an effect is documented.
    probe: { path: '/generations/00000000-0000-4000-8000-000000000000', statuses: [200, 404] },
    video: {
      input: {
        prompt: '$prompt',
        aspect_ratio: '$aspect_ratio',
        video: {
          resolution: '$resolution',
          // Frames are for five seconds.
          duration: { $by: 'with_images duration', 'false 5': '5s', 'false 10': '10s', 'true 5': '5s' },
          start_frame: '$first_frame',
          end_frame: '$last_frame',
        },
      },
      submit: {
        path: '/generations',
        body: { model: '$model', type: 'video' },
        images: { url: '$address' },
        id: '/id',
      },
      poll: POLL,
    },
    image: {
      input: { prompt: '$prompt', aspect_ratio: '$aspect_ratio', output_format: 'png', image_ref: '$reference' },
      submit: {
        path: '/generations',
        body: { model: '$model', type: 'image' },
        images: { url: '$address' },
        id: '/id',
      },
      poll: POLL,
    },
    models: {
      // List prices of July 2026. A reference costs 0.3 cents more.
      'uni-1': { cents: 4.04 },
      'ray-3.2': {
        cents: {
          $by: 'resolution duration',
          '540p 5': 15,
          '720p 5': 30,
          '1080p 5': 120,
          '540p 10': 45,
          '720p 10': 90,
          '1080p 10': 360,
        },
      },
    },
  },
};

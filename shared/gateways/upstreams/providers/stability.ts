import type { ProviderDescription } from '../described/protocol.ts';

const INPUT = { prompt: '$prompt', aspect_ratio: '$aspect_ratio', output_format: 'png' };

/**
 * Stable Image of Stability AI: https://platform.stability.ai/docs/api-reference. Requests are forms, and the response is
 * the image. A model id is a service: `core`, `ultra` or `sd3`. A credit is a cent.
 */
export const stability: ProviderDescription = {
  base_url: 'https://api.stability.ai',
  protocol: {
    auth: { type: 'bearer' },
    errors: [
      { at: 'header:finish-reason', is: ['CONTENT_FILTERED'], means: 'policy' },
      { at: '/name', is: ['content_moderation'], means: 'policy' },
      { status: 413, means: 'rejected' },
    ],
    error_text: ['/errors/*'],
    probe: { path: '/v1/user/balance' },
    image: {
      input: INPUT,
      submit: {
        path: '/v2beta/stable-image/generate/{model}',
        headers: { accept: 'image/*' },
        as: 'form',
        images: 'file',
        output: {},
      },
    },
    models: {
      core: { cents: 3 },
      ultra: { cents: 8 },
      sd3: { input: { ...INPUT, model: 'sd3.5-large' }, cents: 6.5 },
    },
  },
};

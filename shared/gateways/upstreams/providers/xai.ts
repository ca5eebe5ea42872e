import type { ProviderDescription } from '../described/protocol.ts';

const DAY_SECONDS = 86_400;
/** `usage.cost_in_usd_ticks`: 10 billion are a dollar. */
const PRICE = { at: '/usage/cost_in_usd_ticks', cents: 1e-8 };

/**
 * Images and videos of xAI: https://docs.x.ai/developers/rest-api-reference/inference, and xai-org/xai-sdk-python. A
 * video has neither a queued state nor a cancellation.
 */
export const xai: ProviderDescription = {
  base_url: 'https://api.x.ai/v1',
  protocol: {
    auth: { type: 'bearer' },
    errors: [
      { at: '/block_reason', means: 'policy' },
      { at: '/video/respect_moderation', is: ['false'], means: 'policy' },
      { at: '/data/*/respect_moderation', is: ['false'], absent: '/data/*/url', means: 'policy' },
      // Their texts name the team and the key as well.
      { at: '/error', is: ['*content moderation*', '*usage guidelines*'], means: 'policy' },
      { at: '/error/message', is: ['*content moderation*', '*usage guidelines*'], means: 'policy' },
      // With status 400.
      { at: '/error', is: ['Incorrect API key*'], means: 'account' },
    ],
    error_text: ['/error/message', '/error'],
    probe: { path: '/models' },
    image: {
      input: {
        prompt: '$prompt',
        aspect_ratio: '$aspect_ratio',
        resolution: { $by: 'resolution', '1K': '1k', '2K': '2k' },
        images: '$reference',
      },
      submit: {
        path: { $by: 'with_images', false: '/images/generations', true: '/images/edits' },
        body: { model: '$model', response_format: 'url' },
        images: { url: '$address', type: 'image_url' },
        // An address is documented to be valid for an hour at the longest.
        output: {
          at: ['/data/*/url'],
          expires_seconds: 3_600,
          filtered: { at: '/data/*/respect_moderation', is: ['false'] },
        },
        price: PRICE,
      },
    },
    video: {
      input: {
        prompt: '$prompt',
        duration: '$duration',
        resolution: '$resolution',
        aspect_ratio: '$aspect_ratio',
        image: '$first_frame',
        reference_images: '$reference',
      },
      submit: {
        path: '/videos/generations',
        body: { model: '$model' },
        images: { url: '$address' },
        id: '/request_id',
      },
      poll: {
        path: '/videos/{id}',
        statuses: { 202: 'running' },
        state: '/status',
        states: { pending: 'running', done: 'succeeded', failed: 'failed', expired: 'failed' },
        // With status 200 only: a result without a status.
        missing: 'succeeded',
        progress: '/progress',
        output: { at: ['/video/url'], expires_seconds: DAY_SECONDS },
        price: PRICE,
      },
    },
  },
};

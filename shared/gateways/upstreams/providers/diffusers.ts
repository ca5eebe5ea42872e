import type { ProviderDescription } from '../described/protocol.ts';

const IMAGE_SIDES = (index: 0 | 1) => ({
  $by: 'aspect_ratio',
  '1:1': [1024, 1024][index] as number,
  '16:9': [1344, 768][index] as number,
  '9:16': [768, 1344][index] as number,
});

const VIDEO_SIDES = (index: 0 | 1) => ({
  $by: 'resolution aspect_ratio',
  '480p 16:9': [832, 480][index] as number,
  '480p 9:16': [480, 832][index] as number,
  '720p 16:9': [1280, 720][index] as number,
  '720p 9:16': [720, 1280][index] as number,
  '1080p 16:9': [1920, 1088][index] as number,
  '1080p 9:16': [1088, 1920][index] as number,
});

/**
 * A server of one's own around Diffusers, whose contract is in docs/upstreams.md: images are the response, videos are
 * jobs. A repeated submit of a video has the id of the first, so that the server can run it once.
 */
export const diffusers: ProviderDescription = {
  base_url: 'http://127.0.0.1:8000',
  protocol: {
    auth: { type: 'bearer', optional: true },
    errors: [{ at: '/code', is: ['content_policy'], means: 'policy' }],
    error_text: ['/error'],
    files: { auth: true },
    probe: { path: '/health' },
    image: {
      input: {
        prompt: '$prompt',
        width: IMAGE_SIDES(0),
        height: IMAGE_SIDES(1),
        seed: '$random_seed',
        images: '$reference',
        mask: '$mask',
      },
      submit: { path: '/images', body: { model: '$model' }, images: '$base64', output: {} },
    },
    video: {
      input: {
        prompt: '$prompt',
        width: VIDEO_SIDES(0),
        height: VIDEO_SIDES(1),
        seconds: '$duration',
        seed: '$random_seed',
        first_frame: '$first_frame',
        last_frame: '$last_frame',
        images: '$reference',
      },
      submit: { path: '/videos', body: { id: '$generation_id', model: '$model' }, images: '$base64', id: '/id' },
      poll: {
        path: '/videos/{id}',
        state: '/status',
        states: { queued: 'queued', running: 'running', succeeded: 'succeeded', failed: 'failed' },
        result: { path: '/videos/{id}/content' },
        output: {},
      },
      cancel: { path: '/videos/{id}', confirmed: [{ status: 200, at: '/status', is: ['canceled'] }] },
    },
  },
};

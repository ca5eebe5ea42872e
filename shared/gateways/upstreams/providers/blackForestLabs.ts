import type { ProviderDescription } from '../described/protocol.ts';

/** Sides of images, whose sizes are multiples of 16 and up to 4 megapixels. */
const SIDES = (index: 0 | 1) => ({
  $by: 'resolution aspect_ratio',
  '1K 1:1': [1024, 1024][index] as number,
  '1K 16:9': [1376, 768][index] as number,
  '1K 9:16': [768, 1376][index] as number,
  '2K 1:1': [1536, 1536][index] as number,
  '2K 16:9': [2048, 1152][index] as number,
  '2K 9:16': [1152, 2048][index] as number,
  '4K 1:1': [1984, 1984][index] as number,
  '4K 16:9': [2640, 1488][index] as number,
  '4K 9:16': [1488, 2640][index] as number,
});

/**
 * FLUX of Black Forest Labs: https://docs.bfl.ai. A job has an address to poll, in the region that runs it, and no
 * cancellation. Addresses of outputs are signed and valid for ten minutes. A credit is a cent.
 */
export const blackForestLabs: ProviderDescription = {
  base_url: 'https://api.bfl.ai/v1',
  protocol: {
    auth: { type: 'header', name: 'x-key' },
    hosts: ['*.bfl.ai'],
    errors: [
      { at: '/status', is: ['Request Moderated', 'Content Moderated'], means: 'policy' },
      { at: '/status', is: ['Task not found'], means: 'gone' },
      { status: 402, means: 'account' },
    ],
    error_text: ['/detail/*/msg', '/detail', '/message', '/error'],
    retry_after: '/retry_after',
    probe: { path: '/credits' },
    callback: { signature: 'hmac', id: '/id', header: 'x-bfl-signature', encoding: 'hex', prefix: 'sha256=' },
    image: {
      input: {
        prompt: '$prompt',
        width: SIDES(0),
        height: SIDES(1),
        output_format: 'png',
        input_image: '$reference_1',
        input_image_2: '$reference_2',
        input_image_3: '$reference_3',
        input_image_4: '$reference_4',
        input_image_5: '$reference_5',
        input_image_6: '$reference_6',
        input_image_7: '$reference_7',
        input_image_8: '$reference_8',
      },
      submit: {
        path: '/{model}',
        body: { webhook_url: '$callback_url', webhook_secret: '$callback_secret' },
        id: '/id',
        poll_url: '/polling_url',
        price: { at: '/cost', cents: 1 },
      },
      poll: {
        path: '/get_result?id={id}',
        state: '/status',
        states: { Pending: 'running', Ready: 'succeeded', Error: 'failed', Failed: 'failed' },
        progress: '/progress',
        output: { at: ['/result/sample'], expires_seconds: 600 },
      },
    },
  },
};

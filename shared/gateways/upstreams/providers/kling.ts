import type { KindProtocol, ProviderDescription } from '../described/protocol.ts';

/** Models before 2.6 make no sound. A video with a first frame has its shape. */
const SILENT = {
  prompt: '$prompt',
  duration: '{duration}',
  mode: { $by: 'resolution', '720p': 'std', '1080p': 'pro' },
  aspect_ratio: { $by: 'with_images', true: null, false: '$aspect_ratio' },
  image: '$first_frame',
  image_tail: '$last_frame',
};

type Poll = NonNullable<KindProtocol['poll']>;

const TASK: Pick<Poll, 'state' | 'states'> = {
  state: '/data/task_status',
  states: { submitted: 'queued', processing: 'running', succeed: 'succeeded', failed: 'failed' },
};
/** Files are kept for 30 days. */
const EXPIRES_SECONDS = 2_592_000;

/**
 * Kling: https://kling.ai/document-api; the endpoints as in the OpenAPI document of tryAGI/KlingAI, and the keys, models and
 * fields of videos as in @ai-sdk/klingai. An access key has an id and a secret, which signs tokens; a newer API key is
 * sent as it is. Tasks are read where they were submitted, and cannot be canceled.
 */
export const kling: ProviderDescription = {
  base_url: 'https://api-singapore.klingai.com/v1',
  protocol: {
    auth: { type: 'jwt', algorithm: 'HS256', lifetime_seconds: 1_800, plain_keys: true },
    errors: [
      { at: '/code', is: ['1300', '1301'], means: 'policy' },
      { at: '/data/task_status_msg', is: ['*risk control*'], means: 'policy' },
      // Our account, which most of these report with 429: keys, balance and packages, and allowed addresses.
      { at: '/code', is: ['1000', '1001', '1002', '1003', '1004', '1100', '1101', '1102', '1103'], means: 'account' },
      { at: '/code', is: ['1302', '1303'], means: 'busy' },
    ],
    error_text: ['/data/task_status_msg', '/message'],
    probe: { path: '/videos/text2video?pageNum=1&pageSize=1' },
    video: {
      input: { ...SILENT, sound: { $by: 'audio', true: 'on', false: 'off' } },
      submit: {
        path: { $by: 'with_images', true: '/videos/image2video', false: '/videos/text2video' },
        body: { model_name: '$model' },
        id: '/data/task_id',
      },
      poll: {
        ...TASK,
        path: { $by: 'with_images', true: '/videos/image2video/{id}', false: '/videos/text2video/{id}' },
        output: { at: ['/data/task_result/videos/*/url'], expires_seconds: EXPIRES_SECONDS },
      },
    },
    image: {
      input: {
        prompt: '$prompt',
        aspect_ratio: '$aspect_ratio',
        resolution: { $by: 'resolution', '1K': '1k', '2K': '2k' },
        image: '$reference_1',
      },
      submit: { path: '/images/generations', body: { model_name: '$model' }, id: '/data/task_id' },
      poll: {
        ...TASK,
        path: '/images/generations/{id}',
        output: { at: ['/data/task_result/images/*/url'], expires_seconds: EXPIRES_SECONDS },
      },
    },
    models: {
      'kling-v2-5-turbo': { input: SILENT },
      'kling-v1-6': { input: SILENT },
    },
  },
};

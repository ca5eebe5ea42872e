import type { ProviderDescription } from '../described/protocol.ts';

const DAY_SECONDS = 86_400;

const SENSITIVE_CODES = ['*SensitiveContentDetected*', '*RiskDetection'];

const ACCOUNT_CODES = [
  'AuthenticationError',
  'AccessDenied*',
  'AccountOverdueError',
  'ServiceOverdue',
  'ServiceNotOpen',
  'ModelNotOpen',
];

const IMAGE_CONTENT = {
  type: 'image_url',
  image_url: { url: '$address' },
  role: {
    $by: 'role',
    first_frame: 'first_frame',
    last_frame: 'last_frame',
    reference: 'reference_image',
    mask: null,
  },
};

const VIDEO_INPUT = {
  content: [{ type: 'text', text: '$prompt' }, '$first_frame', '$last_frame', '$reference'],
  ratio: '$aspect_ratio',
  resolution: '$resolution',
  duration: '$duration',
  watermark: false,
};

/**
 * Seedance and Seedream on BytePlus ModelArk: https://docs.byteplus.com/en/docs/ModelArk/1520757 (videos), 1541523 (images)
 * and 1299023 (error codes), and byteplus-sdk/byteplus-python-sdk-v2. A task that is queued can be canceled, but the
 * same request deletes one that has ended and its response is empty, so only the next poll says what it did.
 */
export const modelArk: ProviderDescription = {
  base_url: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  protocol: {
    auth: { type: 'bearer' },
    errors: [
      { at: '/error/code', is: SENSITIVE_CODES, means: 'policy' },
      {
        at: '/data/*/error/code',
        is: SENSITIVE_CODES,
        absent: '/data/*/url',
        means: 'policy',
      },
      // A task that has failed: another poll would not change it.
      { status: 200, at: '/error/code', is: ['InternalServiceError', ...ACCOUNT_CODES], means: 'broken' },
      { at: '/error/code', is: ACCOUNT_CODES, means: 'account' },
      { status: 200, at: '/error', means: 'rejected' },
    ],
    error_text: ['/error/message', '/data/*/error/message'],
    probe: { path: '/contents/generations/tasks', query: { page_size: '1' } },
    callback: { signature: 'none', id: '/id' },
    video: {
      input: { ...VIDEO_INPUT, generate_audio: '$audio' },
      submit: {
        path: '/contents/generations/tasks',
        body: { model: '$model', callback_url: '$callback_url' },
        images: IMAGE_CONTENT,
        id: '/id',
      },
      poll: {
        path: '/contents/generations/tasks/{id}',
        state: '/status',
        states: {
          queued: 'queued',
          running: 'running',
          succeeded: 'succeeded',
          failed: 'failed',
          cancelled: 'canceled',
          expired: 'failed',
        },
        output: { at: ['/content/video_url'], expires_seconds: DAY_SECONDS },
      },
      cancel: { path: '/contents/generations/tasks/{id}' },
    },
    image: {
      input: {
        prompt: '$prompt',
        size: {
          $by: 'resolution aspect_ratio',
          '2K 1:1': '2048x2048',
          '2K 16:9': '2560x1440',
          '2K 9:16': '1440x2560',
          '4K 1:1': '4096x4096',
          '4K 16:9': '5404x3040',
          '4K 9:16': '3040x5404',
        },
        image: '$reference',
        watermark: false,
      },
      submit: {
        path: '/images/generations',
        body: { model: '$model', response_format: 'url' },
        output: {
          at: ['/data/*/url'],
          expires_seconds: DAY_SECONDS,
          filtered: { at: '/data/*/error/code', is: SENSITIVE_CODES },
        },
      },
    },
    models: {
      // These have no sound.
      'seedance-1-0-pro-250528': { input: VIDEO_INPUT },
      'seedance-1-0-pro-fast-251015': { input: VIDEO_INPUT },
    },
  },
};

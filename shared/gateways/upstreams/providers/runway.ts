import type { KindProtocol, ProviderDescription } from '../described/protocol.ts';

const HEADERS = { 'x-runway-version': '2024-11-06' };
const TEXT = { promptText: '$prompt', duration: '$duration' };

/** Gen-4 makes videos in 720p, and squares from a first frame only. */
const GEN4_RATIOS = { '16:9': '1280:720', '9:16': '720:1280', '1:1': '960:960' };
const GEN4_TURBO = {
  ...TEXT,
  ratio: {
    $by: 'with_images resolution aspect_ratio',
    'true 720p 16:9': GEN4_RATIOS['16:9'],
    'true 720p 9:16': GEN4_RATIOS['9:16'],
    'true 720p 1:1': GEN4_RATIOS['1:1'],
  },
  promptImage: ['$first_frame'],
};
const GEN45 = {
  ...GEN4_TURBO,
  ratio: { ...GEN4_TURBO.ratio, 'false 720p 16:9': GEN4_RATIOS['16:9'], 'false 720p 9:16': GEN4_RATIOS['9:16'] },
  promptImage: { $by: 'with_images', true: GEN4_TURBO.promptImage, false: null },
};

const FULL_RATIOS = {
  $by: 'resolution aspect_ratio',
  '720p 16:9': '1280:720',
  '720p 9:16': '720:1280',
  '1080p 16:9': '1920:1080',
  '1080p 9:16': '1080:1920',
};
const VEO = {
  ...TEXT,
  ratio: FULL_RATIOS,
  audio: '$audio',
  promptImage: { $by: 'with_images', true: ['$first_frame', '$last_frame'], false: null },
};
/** References are images without a position, which a request cannot have beside frames. */
const SEEDANCE = {
  ...VEO,
  ratio: { ...FULL_RATIOS, '720p 1:1': '960:960', '1080p 1:1': '1440:1440' },
  promptImage: { $by: 'with_images', true: ['$first_frame', '$last_frame', '$reference'], false: null },
};

const TASK: Pick<KindProtocol, 'poll' | 'cancel'> = {
  poll: {
    path: '/tasks/{id}',
    headers: HEADERS,
    state: '/status',
    // A task that is throttled waits for a place within the limits of our tier.
    states: {
      PENDING: 'queued',
      THROTTLED: 'queued',
      RUNNING: 'running',
      SUCCEEDED: 'succeeded',
      FAILED: 'failed',
      CANCELLED: 'canceled',
    },
    progress: '/progress',
    output: { at: ['/output/*'], expires_seconds: 86_400 },
    price: { at: '/cost/credits', cents: 1 },
  },
  // The response is the same for a task that runs, so it confirms nothing.
  cancel: { path: '/tasks/{id}', headers: HEADERS },
};

/**
 * Runway: https://docs.dev.runwayml.com, the types of runwayml/sdk-node, and their OpenAPI document in tryAGI/Runway. Tasks
 * report their cost in credits of a cent, 0 if it was refunded. Addresses of outputs are valid for at least a day.
 */
export const runway: ProviderDescription = {
  base_url: 'https://api.dev.runwayml.com/v1',
  protocol: {
    auth: { type: 'bearer' },
    errors: [
      { at: '/failureCode', is: ['SAFETY.*'], means: 'policy' },
      { status: 400, at: '/error', is: ['*enough credits*'], means: 'account' },
    ],
    error_text: ['/issues/*/message', '/error', '/failure'],
    probe: { path: '/organization', headers: HEADERS },
    video: {
      input: GEN45,
      submit: {
        path: { $by: 'with_images', true: '/image_to_video', false: '/text_to_video' },
        headers: HEADERS,
        body: { model: '$model' },
        images: {
          uri: '$address',
          position: { $by: 'role', first_frame: 'first', last_frame: 'last', reference: null, mask: null },
        },
        id: '/id',
      },
      ...TASK,
    },
    image: {
      input: {
        promptText: '$prompt',
        ratio: {
          $by: 'resolution aspect_ratio',
          '1K 1:1': '1024:1024',
          '1K 16:9': '1280:720',
          '1K 9:16': '720:1280',
          '2K 16:9': '1920:1080',
          '2K 9:16': '1080:1920',
        },
        referenceImages: '$reference',
      },
      submit: {
        path: '/text_to_image',
        headers: HEADERS,
        body: { model: '$model' },
        images: { uri: '$address' },
        id: '/id',
      },
      ...TASK,
    },
    models: {
      gen4_turbo: { input: GEN4_TURBO },
      'veo3.1': { input: VEO },
      'veo3.1_fast': { input: VEO },
      seedance2: { input: SEEDANCE },
    },
  },
};

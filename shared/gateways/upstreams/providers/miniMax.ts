import type { ProviderDescription } from '../described/protocol.ts';

/** A catalog may name the smaller size 720p or 768p. Videos of ten seconds have the smaller one only. */
const RESOLUTION = {
  $by: 'resolution duration',
  '720p 6': '768P',
  '720p 10': '768P',
  '768p 6': '768P',
  '768p 10': '768P',
  '1080p 6': '1080P',
};
const TEXT = { prompt: '$prompt', duration: '$duration' };
const HAILUO_23 = { ...TEXT, resolution: RESOLUTION, first_frame_image: '$first_frame' };
/** Needs a first frame. */
const HAILUO_23_FAST = {
  ...HAILUO_23,
  resolution: {
    $by: 'with_images resolution duration',
    'true 720p 6': '768P',
    'true 720p 10': '768P',
    'true 768p 6': '768P',
    'true 768p 10': '768P',
    'true 1080p 6': '1080P',
  },
};
const SIDE = (index: 0 | 1) => ({
  $by: 'resolution aspect_ratio',
  '1K 1:1': [1024, 1024][index] as number,
  '1K 16:9': [1280, 720][index] as number,
  '1K 9:16': [720, 1280][index] as number,
  '2K 1:1': [2048, 2048][index] as number,
  '2K 16:9': [2048, 1152][index] as number,
  '2K 9:16': [1152, 2048][index] as number,
});
/** List prices in US cents of July 2026, for each video. */
const cents = (small: number, long: number, large: number) => ({
  $by: 'resolution duration',
  '720p 6': small,
  '768p 6': small,
  '720p 10': long,
  '768p 10': long,
  '1080p 6': large,
});

/**
 * MiniMax: https://platform.minimax.io/docs; the requests as in MiniMax-AI/MiniMax-MCP, and the models as in the OpenAPI
 * document of tryAGI/MiniMax. Errors have the status 200 and a code. A video is a file, whose address is read by a
 * request of its own. Call-backs are checked with a challenge that the service does not answer.
 */
export const miniMax: ProviderDescription = {
  base_url: 'https://api.minimax.io/v1',
  protocol: {
    auth: { type: 'bearer' },
    errors: [
      { at: '/base_resp/status_code', is: ['1026', '1027'], means: 'policy' },
      { at: '/metadata/success_count', is: ['0'], means: 'policy' },
      { at: '/base_resp/status_code', is: ['2013'], means: 'rejected' },
      { at: '/base_resp/status_code', is: ['1004', '1008', '2038', '2049', '2056'], means: 'account' },
      { at: '/base_resp/status_code', is: ['1002'], means: 'busy' },
      // The message beside it may be that of the request, which succeeded.
      { at: '/status', is: ['Fail'], means: 'broken' },
    ],
    error_text: ['/base_resp/status_msg'],
    probe: { path: '/files/list?purpose=retrieval' },
    video: {
      input: HAILUO_23,
      submit: { path: '/video_generation', body: { model: '$model' }, id: '/task_id' },
      poll: {
        path: '/query/video_generation?task_id={id}',
        state: '/status',
        states: { Preparing: 'queued', Queueing: 'queued', Processing: 'running', Success: 'succeeded' },
        result: { path: '/files/retrieve?file_id={file_id}', values: { file_id: '/file_id' } },
        // Its lifetime is not documented: it is asked for again after an hour.
        output: { at: ['/file/download_url'], expires_seconds: 3_600 },
      },
    },
    image: {
      input: {
        prompt: '$prompt',
        width: SIDE(0),
        height: SIDE(1),
        response_format: 'url',
        subject_reference: { $by: 'with_images', true: ['$reference_1'], false: null },
      },
      submit: {
        path: '/image_generation',
        body: { model: '$model' },
        images: { type: 'character', image_file: '$address' },
        output: {
          at: ['/data/image_urls/*'],
          expires_seconds: 86_400,
          filtered: { at: '/metadata/failed_count' },
        },
      },
    },
    models: {
      'MiniMax-Hailuo-2.3': { cents: cents(28, 56, 49) },
      'MiniMax-Hailuo-2.3-Fast': { input: HAILUO_23_FAST, cents: cents(19, 32, 33) },
      'MiniMax-Hailuo-02': { input: { ...HAILUO_23, last_frame_image: '$last_frame' }, cents: cents(28, 56, 49) },
    },
  },
};

import type { ProviderDescription } from '../described/protocol.ts';

const IMAGE = { bytesBase64Encoded: '$base64', mimeType: '$type' };

const buildImageInput = (imageConfig: Record<string, string>) => ({
  contents: [{ parts: [{ text: '$prompt' }, '$reference'] }],
  generationConfig: { responseModalities: ['IMAGE'], imageConfig },
});

const BLOCK_REASONS = ['SAFETY', 'PROHIBITED_CONTENT', 'RECITATION', 'BLOCKLIST', 'SPII'];

/**
 * Veo videos and Gemini images of the Gemini API: https://ai.google.dev/gemini-api/docs/video and /image-generation, and
 * googleapis/js-genai. A video is an operation without a queued state or a cancellation; its file needs the key and is
 * kept for two days. Images are base64, in and out. Imagen is no longer offered there.
 */
export const gemini: ProviderDescription = {
  base_url: 'https://generativelanguage.googleapis.com/v1beta',
  protocol: {
    auth: { type: 'header', name: 'x-goog-api-key' },
    errors: [
      // An operation that has ended, with a google.rpc.Code that is not about its input.
      { status: 200, at: '/error/code', is: ['7', '8', '13', '14', '16'], means: 'broken' },
      // With status 400 for an invalid key, and for a country in which the account must have billing.
      { at: '/error/details/*/reason', is: ['API_KEY_*'], means: 'account' },
      { at: '/error/status', is: ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'FAILED_PRECONDITION'], means: 'account' },
      { at: '/promptFeedback/blockReason', means: 'policy' },
      {
        at: '/candidates/*/finishReason',
        is: [...BLOCK_REASONS, ...BLOCK_REASONS.map((reason) => `IMAGE_${reason}`)],
        means: 'policy',
      },
      {
        at: '/response/generateVideoResponse/raiMediaFilteredReasons',
        absent: '/response/generateVideoResponse/generatedSamples/*',
        means: 'policy',
      },
      { at: '/error/message', is: ['*usage guidelines*', '*violate*polic*', '*Responsible AI*'], means: 'policy' },
      { status: 200, at: '/error', means: 'rejected' },
    ],
    error_text: ['/error/message'],
    retry_after: '/error/details/*/retryDelay',
    files: { auth: true },
    probe: { path: '/models/{model}' },
    video: {
      input: {
        instances: [
          {
            prompt: '$prompt',
            image: '$first_frame',
            lastFrame: '$last_frame',
            referenceImages: '$reference',
          },
        ],
        parameters: { aspectRatio: '$aspect_ratio', resolution: '$resolution', durationSeconds: '$duration' },
      },
      submit: {
        path: '/models/{model}:predictLongRunning',
        images: {
          $by: 'role',
          first_frame: IMAGE,
          last_frame: IMAGE,
          reference: { image: IMAGE, referenceType: 'asset' },
          mask: null,
        },
        id: '/name',
      },
      poll: {
        path: '/{id}',
        state: '/done',
        states: { true: 'succeeded' },
        missing: 'running',
        output: { at: ['/response/generateVideoResponse/generatedSamples/*/video/uri'], expires_seconds: 172_800 },
      },
    },
    image: {
      input: buildImageInput({ aspectRatio: '$aspect_ratio', imageSize: '$resolution' }),
      submit: {
        path: '/models/{model}:generateContent',
        images: { inlineData: { mimeType: '$type', data: '$base64' } },
        output: { at: ['/candidates/*/content/parts/*/inlineData/data'], as: 'base64' },
      },
    },
    models: {
      'veo-3.1-generate-preview': { cents_per_second: { $by: 'resolution', '720p': 40, '1080p': 40, '4k': 60 } },
      'gemini-3-pro-image': { cents: { $by: 'resolution', '1K': 13.4, '2K': 13.4, '4K': 24 } },
      // It makes 1K only.
      'gemini-3.1-flash-lite-image': { input: buildImageInput({ aspectRatio: '$aspect_ratio' }) },
    },
  },
};

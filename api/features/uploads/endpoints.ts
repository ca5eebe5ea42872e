import { createUpload, readUpload } from '../../../shared/domain/uploads/createUpload.ts';
import { INPUT_IMAGES_MAX_BYTES } from '../../../shared/spec/limits.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { receiveUpload, serveUpload } from './files.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { CreatedUploadResponse, CreateUploadRequest, presentUpload, UploadResponse } from './schemas.ts';

export const UPLOADS: Feature = {
  // Signed addresses of input images, if files are on disk.
  routes: [
    ['PUT', '/uploads/:uuid/original', 'json', 'anyone', 'public', 'raw', receiveUpload, { cors: 'file' }],
    ['GET', '/uploads/:uuid/:file', 'json', 'anyone', 'unlimited', 'none', serveUpload, { cors: 'file' }],
  ],
  tag: { name: 'Uploads', description: 'Images for models that take them.' },
  schemas: { Upload: UploadResponse, CreatedUpload: CreatedUploadResponse },
  endpoints: [
    defineEndpoint({
      id: 'createUpload',
      route: 'POST /api/uploads/create/',
      policy: { needs: 'createGenerations', access: 'svc:write', testKeysWrite: true },
      summary: 'Create an upload',
      description: `Send the file to \`upload_url\` with \`PUT\` and the \`headers\`, then name it in \`params\` of a create as \`upload:<uuid>\`. PNG, JPEG and WebP of at most 50 megapixels; the images of a generation may have ${INPUT_IMAGES_MAX_BYTES / 1_000_000} MB together. Kept for 24 hours after the last use, at most two days, or as long as a queued or succeeded generation that uses it. 404 if no model takes images.`,
      request: CreateUploadRequest,
      example: { content_type: 'image/png', bytes: 482_113 },
      response: {
        status: 201,
        description: 'The upload waits for its file.',
        schema: CreatedUploadResponse,
        example: {
          uuid: EXAMPLE_UUID,
          upload_url: `https://genmeter.example.org/uploads/${EXAMPLE_UUID}/original?expires=1795255200&signature=…`,
          headers: { 'content-type': 'image/png' },
          expires_at: EXAMPLE_TIMESTAMP,
        },
      },
      errors: ['not_found', 'subscription_required'],
      run: async ({ accountId, body: { content_type: contentType, bytes } }) => {
        const { upload, target, expiresAt } = await createUpload(accountId, { contentType, bytes });
        return { uuid: upload.uuid, upload_url: target.url, headers: target.headers, expires_at: expiresAt };
      },
    }),
    defineEndpoint({
      id: 'getUpload',
      route: 'GET /api/uploads/:uuid/',
      policy: { needs: 'createGenerations', access: 'svc:write' },
      summary: 'Get an upload',
      description:
        'Decodes the file if it has arrived. The first generation that uses the upload does the same, so this call is optional.',
      response: {
        description: 'The upload.',
        schema: UploadResponse,
        example: {
          uuid: EXAMPLE_UUID,
          status: 'ready',
          content_type: 'image/png',
          bytes: 479_006,
          width: 1_024,
          height: 768,
          error: null,
          created_at: EXAMPLE_TIMESTAMP,
          expires_at: EXAMPLE_TIMESTAMP,
        },
      },
      run: async ({ accountId, uuid }) => presentUpload(await readUpload(accountId, uuid)),
    }),
  ],
};

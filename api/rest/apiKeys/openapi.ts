import { ACTIVE_API_KEYS_MAX } from '../../../shared/spec/limits.ts';
import { CreateApiKeyRequest, CreatedApiKeyResponse, RevokedResponse } from './schemas.ts';
import { ApiKeyResponse } from '../../../shared/presenters/apiKey.ts';
import { pageResponse } from '../pagination.ts';
import { EXAMPLE_TIMESTAMP, examplePage, EXAMPLE_UUID } from '../openapi/examples.ts';
import { type FeatureDescription, PAGE_PARAMETER } from '../openapi/feature.ts';

const EXAMPLE_KEY_PREFIX = 'svc_0123abcd';

export const API_KEYS_DESCRIPTION: FeatureDescription = {
  tag: { name: 'API keys', description: 'Personal keys, for programs.' },
  schemas: { ApiKey: ApiKeyResponse, CreatedApiKey: CreatedApiKeyResponse },
  operations: {
    'POST /api/keys/create/': {
      id: 'createApiKey',
      summary: 'Create an API key',
      description: `The key is returned in this response only. An account has at most ${ACTIVE_API_KEYS_MAX} active keys. A key with \`mode: test\` acts on a test account: its generations cost nothing and are watermarked samples, and it cannot change billing or API keys.`,
      body: { schema: CreateApiKeyRequest, example: { name: 'my script' } },
      response: {
        status: 201,
        description: 'The created key.',
        schema: CreatedApiKeyResponse,
        example: {
          uuid: EXAMPLE_UUID,
          name: 'my script',
          key: `${EXAMPLE_KEY_PREFIX}${'0'.repeat(32)}`,
          prefix: EXAMPLE_KEY_PREFIX,
          created_at: EXAMPLE_TIMESTAMP,
        },
      },
      acceptsIdempotencyKey: true,
    },
    'GET /api/keys/': {
      id: 'listApiKeys',
      summary: 'List API keys, newest first',
      description: 'Includes revoked keys. The secret is never returned.',
      parameters: [PAGE_PARAMETER],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(ApiKeyResponse),
        example: examplePage({
          uuid: EXAMPLE_UUID,
          name: 'my script',
          prefix: EXAMPLE_KEY_PREFIX,
          last_used_at: null,
          revoked: false,
          created_at: EXAMPLE_TIMESTAMP,
        }),
      },
    },
    'POST /api/keys/:uuid/revoke/': {
      id: 'revokeApiKey',
      summary: 'Revoke an API key',
      description: 'Takes effect immediately and cannot be undone. Revoking a revoked key changes nothing.',
      response: {
        status: 200,
        description: 'The key is revoked.',
        schema: RevokedResponse,
        example: { revoked: true },
      },
    },
  },
};

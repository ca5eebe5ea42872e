import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import { ACTIVE_API_KEYS_MAX } from '../../../shared/spec/limits.ts';
import { CreateApiKeyRequest, CreatedApiKeyResponse, RevokedResponse, UpdateApiKeyRequest } from './schemas.ts';
import { ApiKeyResponse } from '../../../shared/presenters/apiKey.ts';
import { pageResponse } from '../pagination.ts';
import { EXAMPLE_TIMESTAMP, examplePage, EXAMPLE_UUID } from '../openapi/examples.ts';
import { type FeatureDescription, PAGE_PARAMETER } from '../openapi/feature.ts';

const EXAMPLE_KEY_PREFIX = 'svc_0123abcd';

const getExampleOptions = () => ({
  scopes: ['svc:read', 'svc:write'],
  expires_at: '2027-06-30T00:00:00.000Z',
  allowed_models: [getExampleRequest().model.slug],
  allowed_ips: ['192.0.2.7', '2001:db8::/32'],
});

const OPTIONS_NOTE =
  'Without options a key has all rights of the account. A key with any option cannot create or change keys, and needs the scope `account` for billing, webhooks, notifications, the affiliate program, and to list and revoke keys; requests beyond its options get 403 `insufficient_scope`, and after its expiry 401 `invalid_api_key`.';

export const describeApiKeys = (): FeatureDescription => ({
  tag: { name: 'API keys', description: 'Personal keys, for programs.' },
  schemas: { ApiKey: ApiKeyResponse, CreatedApiKey: CreatedApiKeyResponse },
  operations: {
    'POST /api/keys/create/': {
      id: 'createApiKey',
      summary: 'Create an API key',
      description: `The key is returned in this response only. An account has at most ${ACTIVE_API_KEYS_MAX} active keys. A key with \`mode: test\` acts on a test account: its generations cost nothing and are watermarked samples, and it cannot change billing or API keys. ${OPTIONS_NOTE}`,
      body: {
        schema: CreateApiKeyRequest,
        examples: { usual: { name: 'my script' }, restricted: { name: 'nightly job', ...getExampleOptions() } },
      },
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
    'PATCH /api/keys/:uuid/': {
      id: 'updateApiKey',
      summary: 'Change an API key',
      description: `What is not given stays as it is; null removes an option. Takes effect immediately. ${OPTIONS_NOTE}`,
      body: {
        schema: UpdateApiKeyRequest,
        example: { expires_at: null, allowed_models: [getExampleRequest().model.slug] },
      },
      response: {
        status: 200,
        description: 'The changed key, as in the list.',
        schema: ApiKeyResponse,
        example: {
          uuid: EXAMPLE_UUID,
          name: 'nightly job',
          prefix: EXAMPLE_KEY_PREFIX,
          last_used_at: null,
          revoked: false,
          created_at: EXAMPLE_TIMESTAMP,
          ...getExampleOptions(),
        },
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
});

import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  updateApiKey,
  type CreatedApiKey,
} from '../../../shared/domain/accounts/apiKeys.ts';
import { listKeyLimits } from '../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import { ApiKeyResponse, presentApiKey } from '../../../shared/presenters/apiKey.ts';
import { ACTIVE_API_KEYS_MAX } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { ListQuery, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import {
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  KEY_OPTION_NAMES,
  RevokedResponse,
  UpdateApiKeyRequest,
} from './schemas.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';

const OPTIONS_NOTE =
  'Without options a key has all rights of the account. A key with any option cannot create or change keys, and needs the scope `account` for billing, webhooks, notifications, the affiliate program, and to list and revoke keys; requests beyond its options get 403 `insufficient_scope`, and after its expiry 401 `invalid_api_key`.';

const EXAMPLE_KEY_PREFIX = 'svc_0123abcd';

const EXAMPLE_KEY = {
  uuid: EXAMPLE_UUID,
  name: 'my script',
  prefix: EXAMPLE_KEY_PREFIX,
  last_used_at: null,
  revoked: false,
  created_at: EXAMPLE_TIMESTAMP,
};

const getExampleOptions = () => ({
  scopes: ['svc:read', 'svc:write'],
  expires_at: '2027-06-30T00:00:00.000Z',
  allowed_models: [getExampleRequest().model.slug],
  allowed_ips: ['192.0.2.7', '2001:db8::/32'],
});

/** Returns the fields of a body that has not been validated. */
const readFields = (ctx: Context) => Object(getJsonBody(ctx)) as Record<string, unknown>;

export const API_KEYS: Feature = {
  tag: { name: 'API keys', description: 'Personal keys, for programs.' },
  schemas: { ApiKey: ApiKeyResponse, CreatedApiKey: CreatedApiKeyResponse },
  endpoints: [
    defineEndpoint({
      id: 'createApiKey',
      route: 'POST /api/keys/create/',
      policy: {
        needs: 'manageKeys',
        access: 'unrestricted',
        // Options do not exempt a live key: a limit may be as high as a billion credits.
        recentSignIn: (ctx) => readFields(ctx)['mode'] !== 'test',
      },
      summary: 'Create an API key',
      description: `The key is returned in this response only. An account has at most ${ACTIVE_API_KEYS_MAX} active keys. A key with \`mode: test\` acts on a test account: its generations cost nothing and are watermarked samples, and it cannot change billing or API keys. ${OPTIONS_NOTE}`,
      request: CreateApiKeyRequest,
      examples: () => ({ usual: { name: 'my script' }, restricted: { name: 'nightly job', ...getExampleOptions() } }),
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
      idempotent: 'ofMember',
      run: async ({ ctx, caller, body, saveResponse }) => {
        const created = await createApiKey(caller, body, {
          origin: getRequestOrigin(ctx),
          onCreated: (transaction, key) => saveResponse(transaction, presentCreatedApiKey(key)),
        });
        return presentCreatedApiKey(created);
      },
    }),
    defineEndpoint({
      id: 'listApiKeys',
      route: 'GET /api/keys/',
      policy: { needs: 'manageKeys', access: 'account' },
      summary: 'List API keys, newest first',
      description: 'Includes revoked keys. The secret is never returned.',
      query: ListQuery,
      response: pageResponse(ApiKeyResponse, EXAMPLE_KEY),
      run: async ({ accountId, query }) => {
        const page = await listApiKeys(accountId, query.page);
        const limits = await listKeyLimits(page.items);
        return presentPage(page, '/api/keys/', (key) => presentApiKey(key, limits.get(key.uuid)));
      },
    }),
    defineEndpoint({
      id: 'updateApiKey',
      route: 'PATCH /api/keys/:uuid/',
      policy: {
        needs: 'manageKeys',
        access: 'unrestricted',
        recentSignIn: (ctx) => Object.keys(readFields(ctx)).some((name) => KEY_OPTION_NAMES.includes(name)),
      },
      summary: 'Change an API key',
      description: `What is not given stays as it is; null removes an option. Takes effect immediately. ${OPTIONS_NOTE}`,
      request: UpdateApiKeyRequest,
      example: () => ({ expires_at: null, allowed_models: [getExampleRequest().model.slug] }),
      response: () => ({
        description: 'The changed key, as in the list.',
        schema: ApiKeyResponse,
        example: { ...EXAMPLE_KEY, name: 'nightly job', ...getExampleOptions() },
      }),
      run: async ({ ctx, caller, uuid, body }) => {
        const key = await updateApiKey(caller, uuid, body, { origin: getRequestOrigin(ctx) });
        return presentApiKey(key, (await listKeyLimits([key])).get(key.uuid));
      },
    }),
    defineEndpoint({
      id: 'revokeApiKey',
      route: 'POST /api/keys/:uuid/revoke/',
      policy: { needs: 'manageKeys', access: 'account' },
      summary: 'Revoke an API key',
      description: 'Takes effect immediately and cannot be undone. Revoking a revoked key changes nothing.',
      response: { description: 'The key is revoked.', schema: RevokedResponse, example: { revoked: true } },
      run: async ({ ctx, caller, uuid }) => {
        await revokeApiKey(caller, uuid, { origin: getRequestOrigin(ctx) });
        return { revoked: true };
      },
    }),
  ],
};

const presentCreatedApiKey = ({ key, row, limit }: CreatedApiKey) =>
  presentAs(CreatedApiKeyResponse, presentApiKey(row, limit), { key });

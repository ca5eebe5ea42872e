import { ApiKeyResponse, CreatedApiKeyResponse, RevokedResponse } from './schemas.ts';
import { pageResponse } from '../pagination.ts';
import { LedgerEntryResponse, UsageResponse } from '../usage/schemas.ts';
import { CreateApiKeyRequest } from './schemas.ts';
import { EXAMPLE_TIMESTAMP, examplePage, EXAMPLE_UUID } from '../openapi/examples.ts';
import { type Operations, PAGE_PARAMETER } from '../openapi/operation.ts';

const EXAMPLE_KEY_PREFIX = 'svc_0123abcd';

export const API_KEY_AND_USAGE_OPERATIONS: Operations = {
  'POST /api/keys/create/': {
    id: 'createApiKey',
    tag: 'API keys',
    summary: 'Create an API key',
    description: 'The key is returned in this response only. An account has at most 20 active keys.',
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
    tag: 'API keys',
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
    tag: 'API keys',
    summary: 'Revoke an API key',
    description: 'Takes effect immediately and cannot be undone. Revoking a revoked key changes nothing.',
    response: { status: 200, description: 'The key is revoked.', schema: RevokedResponse, example: { revoked: true } },
  },
  'GET /api/usage/summary/': {
    id: 'getUsageSummary',
    tag: 'Usage',
    summary: 'Get balance and usage',
    response: {
      status: 200,
      description: 'Balance, credit period, parallel limit, usage of the last 30 days, and totals by model.',
      schema: UsageResponse,
      example: {
        plan: { slug: 'pro', name: 'Pro', monthly_credits: 1_100, parallel_limit: 5, price_monthly_cents: 2_900 },
        credits: {
          balance: 1_092,
          used_this_period: 8,
          granted_this_period: 1_100,
          rollover: 0,
          period_start: '2026-11-01T00:00:00.000Z',
          period_end: '2026-12-01T00:00:00.000Z',
        },
        jobs: { in_flight: 0, parallel_limit: 5 },
        history: [{ date: '2026-11-21', credits_used: 8, generations: 1 }],
        by_model: [{ model: 'Image model', credits: 8, count: 1 }],
      },
    },
  },
  'GET /api/ledger/': {
    id: 'listLedgerEntries',
    tag: 'Usage',
    summary: 'List ledger entries, newest first',
    description: 'All changes of the balance. The ledger is append-only.',
    parameters: [PAGE_PARAMETER],
    response: {
      status: 200,
      description: 'One page of the list.',
      schema: pageResponse(LedgerEntryResponse),
      example: examplePage({
        uuid: EXAMPLE_UUID,
        entry_type: 'burn',
        amount: -8,
        balance_after: 1_092,
        description: 'Generation: imgmodel-2',
        created_at: EXAMPLE_TIMESTAMP,
      }),
    },
  },
};

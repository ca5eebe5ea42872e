import {
  ApiKeyAnswer,
  CreatedApiKeyAnswer,
  LedgerEntryAnswer,
  pageOf,
  RevokedAnswer,
  UsageAnswer,
} from '../../answers.ts';
import { CreateApiKey } from '../../schemas.ts';
import { AT, listOf, UUID } from '../examples.ts';
import { type Operations, PAGE } from '../operation.ts';

const PREFIX = 'svc_0123abcd';

export const ACCOUNT: Operations = {
  'POST /api/keys/create/': {
    id: 'createApiKey',
    tag: 'API keys',
    summary: 'Create an API key',
    description: 'Its text is in this answer and nowhere else. An account has at most 20 active keys.',
    body: { schema: CreateApiKey, example: { name: 'my script' } },
    answer: {
      status: 201,
      description: 'The key, told once.',
      schema: CreatedApiKeyAnswer,
      example: { uuid: UUID, name: 'my script', key: `${PREFIX}${'0'.repeat(32)}`, prefix: PREFIX, created_at: AT },
    },
    isRepeatable: true,
  },
  'GET /api/keys/': {
    id: 'listApiKeys',
    tag: 'API keys',
    summary: 'List API keys, newest first',
    description: 'Revoked ones, too; never their texts.',
    parameters: [PAGE],
    answer: {
      status: 200,
      description: 'One page.',
      schema: pageOf(ApiKeyAnswer),
      example: listOf({
        uuid: UUID,
        name: 'my script',
        prefix: PREFIX,
        last_used_at: null,
        revoked: false,
        created_at: AT,
      }),
    },
  },
  'POST /api/keys/:uuid/revoke/': {
    id: 'revokeApiKey',
    tag: 'API keys',
    summary: 'Revoke an API key',
    description: 'At once and for good; one that is revoked stays so.',
    answer: { status: 200, description: 'It is revoked.', schema: RevokedAnswer, example: { revoked: true } },
  },
  'GET /api/usage/summary/': {
    id: 'getUsageSummary',
    tag: 'Usage',
    summary: 'Read balance and usage',
    answer: {
      status: 200,
      description: 'Balance, period, slots, the last 30 days, and totals by model.',
      schema: UsageAnswer,
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
    description: 'Every movement of credits. Entries are only ever added.',
    parameters: [PAGE],
    answer: {
      status: 200,
      description: 'One page.',
      schema: pageOf(LedgerEntryAnswer),
      example: listOf({
        uuid: UUID,
        entry_type: 'burn',
        amount: -8,
        balance_after: 1_092,
        description: 'Generation: imgmodel-2',
        created_at: AT,
      }),
    },
  },
};

import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, examplePage, getExampleCharge } from '../openapi/examples.ts';
import { getExamplePlan } from '../../../shared/lib/catalog/offeredPlans.ts';
import { LEDGER_ENTRY_TYPES } from '../../../shared/spec/states.ts';
import {
  CREATED_RANGE_PARAMETERS,
  type FeatureDescription,
  FILTERED_LIST_NOTE,
  PAGE_PARAMETER,
} from '../openapi/feature.ts';
import { pageResponse } from '../pagination.ts';
import { presentUsagePlan } from './presenter.ts';
import { KeyUsageResponse, getUsageResponse } from './schemas.ts';
import { LedgerEntryResponse } from '../../../shared/presenters/ledgerEntry.ts';

export const describeUsage = (charge = getExampleCharge()): FeatureDescription => ({
  tag: { name: 'Usage', description: 'Credit balance, usage history and ledger.' },
  schemas: { LedgerEntry: LedgerEntryResponse, UsageSummary: getUsageResponse(), KeyUsage: KeyUsageResponse },
  operations: {
    'GET /api/usage/summary/': {
      id: 'getUsageSummary',
      summary: 'Get balance and usage',
      response: {
        status: 200,
        description: 'Balance, credit period, parallel limit, usage of the last 30 days, and totals by model.',
        schema: getUsageResponse(),
        example: {
          plan: presentUsagePlan(getExamplePlan()),
          credits: {
            balance: charge.balance,
            used_this_period: charge.credits,
            granted_this_period: charge.granted,
            rollover: 0,
            period_start: '2026-11-01T00:00:00.000Z',
            period_end: '2026-12-01T00:00:00.000Z',
          },
          jobs: { in_flight: 0, parallel_limit: 5 },
          history: [{ date: '2026-11-21', credits_used: charge.credits, generations: 1 }],
          by_model: [{ model: charge.model.name, credits: charge.credits, count: 1 }],
        },
      },
    },
    'GET /api/usage/keys/': {
      id: 'listKeyUsage',
      summary: 'List the usage of each API key',
      description:
        'All keys of the account, newest first, including revoked ones, with their usage since they were created. The rest of `by_model` in the usage summary was created without a key: by assistants and in a browser session, or before keys were recorded.',
      parameters: [PAGE_PARAMETER],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(KeyUsageResponse),
        example: examplePage({
          uuid: EXAMPLE_UUID,
          name: 'render farm',
          prefix: 'svc_4f8c1d2a',
          revoked: false,
          credits: 43,
          count: 2,
        }),
      },
    },
    'GET /api/ledger/': {
      id: 'listLedgerEntries',
      summary: 'List ledger entries, newest first',
      description: `All changes of the balance. The ledger is append-only. ${FILTERED_LIST_NOTE} With \`Accept: text/csv\` the response is a file with all matching entries, whatever the \`page\`.`,
      parameters: [
        PAGE_PARAMETER,
        {
          name: 'entry_type',
          in: 'query',
          description: 'Only entries of this type.',
          schema: { type: 'string', enum: LEDGER_ENTRY_TYPES },
        },
        ...CREATED_RANGE_PARAMETERS,
      ],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(LedgerEntryResponse),
        example: examplePage({
          uuid: EXAMPLE_UUID,
          entry_type: 'burn',
          amount: -charge.credits,
          balance_after: charge.balance,
          description: `Generation: ${charge.model.slug}`,
          created_at: EXAMPLE_TIMESTAMP,
        }),
        csvExample: `number,created_at,type,description,credits,balance_after,generation\r\n2,${EXAMPLE_TIMESTAMP},burn,Generation: ${charge.model.slug},${-charge.credits},${charge.balance},${EXAMPLE_UUID}\r\n`,
      },
    },
  },
});

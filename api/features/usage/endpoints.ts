import Type from 'typebox';
import { listLedgerEntries } from '../../../shared/domain/credits/ledger.ts';
import type { LedgerFilter } from '../../../shared/domain/credits/listFilteredLedger.ts';
import { getUsageSummary } from '../../../shared/domain/usage/usageSummary.ts';
import { listMemberUsage } from '../../../shared/domain/usage/usageByMember.ts';
import { listKeyUsage } from '../../../shared/domain/accounts/listKeyUsage.ts';
import { getExamplePlan } from '../../../shared/lib/catalog/catalog.ts';
import { createQueryParser, type Parameters } from '../../../shared/lib/validation/queryParser.ts';
import { LedgerEntryResponse, presentLedgerEntry } from '../../../shared/presenters/ledgerEntry.ts';
import { LEDGER_ENTRY_TYPES } from '../../../shared/spec/states.ts';
import type { Context } from '../../context.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, getExampleCharge } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import {
  buildFilterQuery,
  CREATED_RANGE,
  FILTERED_LIST_NOTE,
  ListQuery,
  PageParameter,
  pageResponse,
  presentPage,
  toCreatedRange,
} from '../../pipeline/lists.ts';
import { sendLedgerCsv } from './ledgerCsv.ts';
import { presentKeyUsage, presentMemberUsage, presentUsage, presentUsagePlan } from './presenter.ts';
import { getUsageResponse, KeyUsageResponse, MemberUsageResponse } from './schemas.ts';

const LEDGER_FILTERS = {
  entry_type: Type.Optional(Type.Enum([...LEDGER_ENTRY_TYPES], { description: 'Only entries of this type.' })),
  ...CREATED_RANGE,
};
const LedgerQuery = Type.Object({ page: PageParameter, ...LEDGER_FILTERS });
const parseFilters = createQueryParser(Type.Object(LEDGER_FILTERS));

/**
 * Parses the filters of the ledger. Other parameters are ignored.
 * @throws ServiceError validation_error
 */
export function parseLedgerFilter(parameters: Parameters): LedgerFilter {
  const filters = parseFilters(parameters);
  return { entryType: filters.entry_type, ...toCreatedRange(filters) };
}

/** Returns the filters of the ledger as a query, for the links to its other pages. */
const buildLedgerQuery = (parameters: Parameters): string => buildFilterQuery(parameters, Object.keys(LEDGER_FILTERS));

/** Returns true only for a client that names CSV: one that accepts anything gets JSON. */
function wantsCsv(ctx: Context): boolean {
  return (
    /(^|,)\s*text\/csv\s*(;|,|$)/i.test(ctx.get('accept')) && ctx.accepts('application/json', 'text/csv') === 'text/csv'
  );
}

export const USAGE: Feature = {
  tag: { name: 'Usage', description: 'Credit balance, usage history and ledger.' },
  schemas: () => ({
    LedgerEntry: LedgerEntryResponse,
    UsageSummary: getUsageResponse(),
    KeyUsage: KeyUsageResponse,
    MemberUsage: MemberUsageResponse,
  }),
  endpoints: [
    defineEndpoint({
      id: 'getUsageSummary',
      route: 'GET /api/usage/summary/',
      policy: { needs: 'viewUsage', access: 'svc:read' },
      summary: 'Get balance and usage',
      response: () => {
        const { balance, credits, granted, model } = getExampleCharge();
        return {
          description: 'Balance, credit period, parallel limit, usage of the last 30 days, and totals by model.',
          schema: getUsageResponse(),
          example: {
            plan: presentUsagePlan(getExamplePlan()),
            credits: {
              balance,
              used_this_period: credits,
              granted_this_period: granted,
              rollover: 0,
              period_start: '2026-11-01T00:00:00.000Z',
              period_end: '2026-12-01T00:00:00.000Z',
            },
            jobs: { in_flight: 0, parallel_limit: 5 },
            history: [{ date: '2026-11-21', credits_used: credits, generations: 1 }],
            by_model: [{ model: model.name, credits, count: 1 }],
          },
        };
      },
      run: async ({ accountId }) => presentUsage(await getUsageSummary(accountId)),
    }),
    defineEndpoint({
      id: 'listKeyUsage',
      route: 'GET /api/usage/keys/',
      policy: { needs: 'viewUsage', access: 'svc:read' },
      summary: 'List the usage of each API key',
      description:
        'All keys of the account, newest first, including revoked ones, with their usage since they were created. The rest of `by_model` in the usage summary was created without a key: by assistants and in a browser session, or before keys were recorded.',
      query: ListQuery,
      response: pageResponse(KeyUsageResponse, {
        uuid: EXAMPLE_UUID,
        name: 'render farm',
        prefix: 'svc_4f8c1d2a',
        revoked: false,
        credits: 43,
        count: 2,
      }),
      run: async ({ accountId, query }) =>
        presentPage(await listKeyUsage(accountId, query.page), '/api/usage/keys/', presentKeyUsage),
    }),
    defineEndpoint({
      id: 'listMemberUsage',
      route: 'GET /api/usage/members/',
      // It has addresses of people.
      policy: { needs: 'viewUsage', access: 'account' },
      summary: 'List the usage of each member',
      description:
        'All members of the account, newest first, including removed ones, with the usage of their sessions, API keys and applications since they joined.',
      query: ListQuery,
      response: pageResponse(MemberUsageResponse, {
        uuid: EXAMPLE_UUID,
        email: 'dev@example.org',
        removed: false,
        credits: 43,
        count: 2,
      }),
      run: async ({ accountId, query }) =>
        presentPage(await listMemberUsage(accountId, query.page), '/api/usage/members/', presentMemberUsage),
    }),
    defineEndpoint({
      id: 'listLedgerEntries',
      route: 'GET /api/ledger/',
      policy: { needs: 'viewUsage', access: 'svc:read' },
      summary: 'List ledger entries, newest first',
      description: `All changes of the balance. The ledger is append-only. ${FILTERED_LIST_NOTE} With \`Accept: text/csv\` the response is a file with all matching entries, whatever the \`page\`.`,
      query: LedgerQuery,
      response: () => {
        const { balance, credits, model } = getExampleCharge();
        return {
          ...pageResponse(LedgerEntryResponse, {
            uuid: EXAMPLE_UUID,
            entry_type: 'burn',
            amount: -credits,
            balance_after: balance,
            description: `Generation: ${model.slug}`,
            created_at: EXAMPLE_TIMESTAMP,
          }),
          csvExample: `number,created_at,type,description,credits,balance_after,generation\r\n2,${EXAMPLE_TIMESTAMP},burn,Generation: ${model.slug},${-credits},${balance},${EXAMPLE_UUID}\r\n`,
        };
      },
      run: async ({ ctx, accountId, query }) => {
        const filter = { entryType: query.entry_type, ...toCreatedRange(query) };
        if (wantsCsv(ctx)) return sendLedgerCsv(ctx, filter);
        const page = await listLedgerEntries(accountId, query.page, filter);
        return presentPage(page, '/api/ledger/', presentLedgerEntry, buildLedgerQuery(ctx.query));
      },
    }),
  ],
};

import Type from 'typebox';
import { requireTestAccount } from '../../../shared/domain/accounts/testAccounts.ts';
import {
  getDefaultSecret,
  rotateDefaultSecret,
  type DefaultSecret,
} from '../../../shared/domain/webhooks/defaultEndpoint.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryFilter,
  listDeliveries,
  readDelivery,
  redeliver,
  type DeliveryDetails,
  type ListedDelivery,
} from '../../../shared/domain/webhooks/deliveries.ts';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  rotateSecret,
  sendTestEvent,
  updateEndpoint,
} from '../../../shared/domain/webhooks/endpoints.ts';
import { createQueryParser, type Parameters } from '../../../shared/lib/validation/queryParser.ts';
import { CommissionData, LowCreditsData, PayoutData, TopupData } from '../../../shared/presenters/webhookData.ts';
import { presentWebhookEndpoint, WebhookEndpointResponse } from '../../../shared/presenters/webhookEndpoint.ts';
import { WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE } from '../../../shared/spec/events.ts';
import { FILTERED_ITEMS_MAX, WEBHOOK_ENDPOINTS_MAX } from '../../../shared/spec/limits.ts';
import type { KeyMode } from '../../../shared/spec/testMode.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { buildFilterQuery, ListQuery, PageParameter, pageResponse, presentPage } from '../../pipeline/lists.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { ModeParameter, parseUuidParam } from '../../pipeline/requestParameters.ts';
import {
  defaultSecretResponse,
  endpointResponse,
  endpointWithSecretResponse,
  EXAMPLE_DELIVERY,
  EXAMPLE_DELIVERY_DETAILS,
  EXAMPLE_ENDPOINT,
  EXAMPLE_URL,
  pendingDeliveryResponse,
} from './examples.ts';
import {
  CreateWebhookRequest,
  DeliveryDetailsResponse,
  DeliveryResponse,
  UpdateWebhookRequest,
  WebhookEndpointWithSecretResponse,
  type DefaultSecretResponse,
} from './schemas.ts';
import type { Static } from 'typebox';
import type { EndpointWithSecret } from '../../../shared/domain/webhooks/rotateSecret.ts';
import { presentAs } from '../../../shared/presenters/fields.ts';

export { EXAMPLE_ENDPOINT };

const DELIVERY_FILTERS = {
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES], { description: 'Only deliveries with this status.' })),
  type: Type.Optional(
    Type.Enum([...WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE], { description: 'Only deliveries of events of this type.' }),
  ),
};
const DeliveriesQuery = Type.Object({ page: PageParameter, ...DELIVERY_FILTERS });
const parseFilters = createQueryParser(Type.Object(DELIVERY_FILTERS));

/**
 * Parses the filters of the deliveries of a webhook endpoint. Other parameters are ignored.
 * @throws ServiceError validation_error
 */
export function parseDeliveryFilter(parameters: Parameters): DeliveryFilter {
  const { status, type } = parseFilters(parameters);
  return { status, type };
}

/** Returns the filters of the deliveries of a webhook endpoint as a query, for the links to its other pages. */
export const buildDeliveryQuery = (parameters: Parameters): string =>
  buildFilterQuery(parameters, Object.keys(DELIVERY_FILTERS));

const ModeQuery = Type.Object({
  mode: Type.Unsafe<KeyMode>({
    ...ModeParameter,
    description: '`test`: the secret of test mode. Requires a test key of the account',
  }),
});

/** Returns the account whose default secret a request is about. */
async function findSecretOwner(accountId: number, mode: KeyMode): Promise<number> {
  return mode === 'test' ? requireTestAccount(accountId) : accountId;
}

export const WEBHOOKS_TAG = {
  name: 'Webhooks',
  description:
    'Requests that the service sends when something happens, signed according to Standard Webhooks 1.0.0. Each event is delivered at least once; `webhook-id` identifies it.',
};

export const WEBHOOKS: Feature = {
  tag: WEBHOOKS_TAG,
  schemas: {
    WebhookEndpoint: WebhookEndpointResponse,
    WebhookEndpointWithSecret: WebhookEndpointWithSecretResponse,
    WebhookDelivery: DeliveryResponse,
    WebhookDeliveryDetails: DeliveryDetailsResponse,
    LowCredits: LowCreditsData,
    Topup: TopupData,
    Commission: CommissionData,
    Payout: PayoutData,
  },
  endpoints: [
    defineEndpoint({
      id: 'createWebhook',
      route: 'POST /api/webhooks/create/',
      policy: { needs: 'manageWebhooks', access: 'account', testKeysWrite: true },
      summary: 'Create a webhook endpoint',
      description: `The secret is returned in this response only. An account has at most ${WEBHOOK_ENDPOINTS_MAX} endpoints.`,
      request: CreateWebhookRequest,
      examples: {
        all: { url: EXAMPLE_URL },
        some: { url: EXAMPLE_URL, events: EXAMPLE_ENDPOINT.events, description: 'Production' },
      },
      response: { status: 201, ...endpointWithSecretResponse('The created endpoint.') },
      idempotent: 'ofMember',
      run: async ({ ctx, caller, body, saveResponse }) => {
        const created = await createEndpoint(caller, body, {
          origin: getRequestOrigin(ctx),
          onDone: (transaction, result) => saveResponse(transaction, presentEndpointWithSecret(result)),
        });
        return presentEndpointWithSecret(created);
      },
    }),
    defineEndpoint({
      id: 'listWebhooks',
      route: 'GET /api/webhooks/',
      policy: { needs: 'manageWebhooks', access: 'account' },
      summary: 'List webhook endpoints, newest first',
      query: ListQuery,
      response: pageResponse(WebhookEndpointResponse, EXAMPLE_ENDPOINT),
      run: async ({ accountId, query }) =>
        presentPage(await listEndpoints(accountId, query.page), '/api/webhooks/', presentWebhookEndpoint),
    }),
    defineEndpoint({
      id: 'getDefaultWebhookSecret',
      route: 'GET /api/webhooks/default/secret/',
      policy: { needs: 'manageWebhooks', credential: 'session', recentSignIn: true },
      summary: 'Get the default secret',
      description:
        'Signs the events of generations that were created with a `webhook_url`; with `mode=test`, of those that a test key created.',
      query: ModeQuery,
      response: defaultSecretResponse('The default secret.'),
      errors: ['not_found', 'insufficient_scope'],
      run: async ({ accountId, query }) =>
        presentDefaultSecret(await getDefaultSecret(await findSecretOwner(accountId, query.mode))),
    }),
    defineEndpoint({
      id: 'rotateDefaultWebhookSecret',
      route: 'POST /api/webhooks/default/rotate-secret/',
      policy: { needs: 'manageWebhooks', credential: 'session', recentSignIn: true },
      summary: 'Rotate the default secret',
      description: 'For 24 hours messages are also signed with the former keys.',
      query: ModeQuery,
      response: defaultSecretResponse('The new default secret.'),
      errors: ['not_found', 'insufficient_scope'],
      run: async ({ ctx, caller, query }) => {
        const accountId = await findSecretOwner(caller.accountId, query.mode);
        const rotated = await rotateDefaultSecret(caller, accountId, getRequestOrigin(ctx));
        return presentDefaultSecret(rotated);
      },
    }),
    defineEndpoint({
      id: 'getWebhook',
      route: 'GET /api/webhooks/:uuid/',
      policy: { needs: 'manageWebhooks', access: 'account' },
      summary: 'Get a webhook endpoint',
      response: endpointResponse('The endpoint.'),
      run: async ({ accountId, uuid }) => presentWebhookEndpoint(await getEndpoint(accountId, uuid)),
    }),
    defineEndpoint({
      id: 'updateWebhook',
      route: 'PATCH /api/webhooks/:uuid/',
      policy: { needs: 'manageWebhooks', access: 'account', testKeysWrite: true },
      summary: 'Update a webhook endpoint',
      description:
        'Fields that are absent stay as they are. `enabled: false` fails pending deliveries; `enabled: true` also enables an endpoint that was disabled because it failed.',
      request: UpdateWebhookRequest,
      example: { enabled: true },
      response: endpointResponse('The updated endpoint.'),
      run: async ({ ctx, caller, uuid, body }) =>
        presentWebhookEndpoint(await updateEndpoint(caller, uuid, body, { origin: getRequestOrigin(ctx) })),
    }),
    defineEndpoint({
      id: 'deleteWebhook',
      route: 'DELETE /api/webhooks/:uuid/',
      policy: { needs: 'manageWebhooks', access: 'account', testKeysWrite: true },
      summary: 'Delete a webhook endpoint',
      description: 'Deletes its deliveries too. Pending ones are not sent.',
      response: { status: 204, description: 'The endpoint was deleted.' },
      run: async ({ ctx, caller, uuid }) => {
        await deleteEndpoint(caller, uuid, { origin: getRequestOrigin(ctx) });
      },
    }),
    defineEndpoint({
      id: 'rotateWebhookSecret',
      route: 'POST /api/webhooks/:uuid/rotate-secret/',
      policy: { needs: 'manageWebhooks', access: 'account', recentSignIn: true, testKeysWrite: true },
      summary: 'Rotate the keys of a webhook endpoint',
      description:
        'For 24 hours messages are also signed with the former keys. A second rotation within this time ends the keys before the first.',
      response: endpointWithSecretResponse('The endpoint with its new secret.'),
      // A rotation that is repeated after a lost response would end the keys that are in use.
      idempotent: 'ofMember',
      run: async ({ ctx, caller, uuid, saveResponse }) => {
        const rotated = await rotateSecret(caller, uuid, {
          origin: getRequestOrigin(ctx),
          onDone: (transaction, result) => saveResponse(transaction, presentEndpointWithSecret(result)),
        });
        return presentEndpointWithSecret(rotated);
      },
    }),
    defineEndpoint({
      id: 'testWebhook',
      route: 'POST /api/webhooks/:uuid/test/',
      policy: { needs: 'manageWebhooks', access: 'account', testKeysWrite: true },
      summary: 'Send a test event',
      description:
        'Sends `webhook.test` to the endpoint, whatever types it receives. A 400 while the endpoint is disabled.',
      response: pendingDeliveryResponse('The delivery of the event.'),
      run: async ({ caller, uuid }) => presentDelivery(await sendTestEvent(caller, uuid)),
    }),
    defineEndpoint({
      id: 'listWebhookDeliveries',
      route: 'GET /api/webhooks/:uuid/deliveries/',
      policy: { needs: 'manageWebhooks', access: 'account' },
      summary: 'List deliveries, newest first',
      description: `Deliveries are kept for 30 days. At most ${FILTERED_ITEMS_MAX} are counted and shown: a \`total_items\` of ${FILTERED_ITEMS_MAX + 1} means that there are more, and a page after those is a 400. Takes also the \`uuid\` of \`GET /api/webhooks/default/secret/\`.`,
      query: DeliveriesQuery,
      response: pageResponse(DeliveryResponse, EXAMPLE_DELIVERY),
      run: async ({ ctx, accountId, uuid, query: { page, status, type } }) => {
        const deliveries = await listDeliveries(accountId, uuid, page, { status, type });
        const path = `/api/webhooks/${uuid}/deliveries/`;
        return presentPage(deliveries, path, presentDelivery, buildDeliveryQuery(ctx.query));
      },
    }),
    defineEndpoint({
      id: 'getWebhookDelivery',
      route: 'GET /api/webhooks/:uuid/deliveries/:delivery/',
      policy: { needs: 'manageWebhooks', access: 'account' },
      summary: 'Get a delivery with its attempts',
      description:
        'Shows what was sent and how the receiver responded. The other headers of the requests are constant.',
      response: {
        description: 'The delivery.',
        schema: DeliveryDetailsResponse,
        example: EXAMPLE_DELIVERY_DETAILS,
      },
      run: async ({ ctx, caller, uuid }) =>
        presentDeliveryDetails((await readDelivery(caller, uuid, parseUuidParam(ctx, 'delivery'))).delivery),
    }),
    defineEndpoint({
      id: 'redeliverWebhook',
      route: 'POST /api/webhooks/:uuid/deliveries/:delivery/redeliver/',
      policy: { needs: 'manageWebhooks', access: 'account', testKeysWrite: true },
      summary: 'Deliver an event again',
      description:
        'Starts a new round of attempts with the same `webhook-id`. A 400 while the delivery is pending or the endpoint is disabled.',
      response: pendingDeliveryResponse('The delivery, which is pending again.'),
      run: async ({ ctx, caller, uuid }) =>
        presentDelivery(await redeliver(caller, uuid, parseUuidParam(ctx, 'delivery'))),
    }),
  ],
};

function presentEndpointWithSecret({
  endpoint,
  secret,
}: EndpointWithSecret): Static<typeof WebhookEndpointWithSecretResponse> {
  return { ...presentWebhookEndpoint(endpoint), secret };
}

function presentDefaultSecret({ uuid, secret, publicKey }: DefaultSecret): Static<typeof DefaultSecretResponse> {
  return { uuid, secret, public_key: publicKey };
}

const presentDelivery = (row: ListedDelivery) => presentAs(DeliveryResponse, row);
const presentDeliveryDetails = (row: DeliveryDetails) => presentAs(DeliveryDetailsResponse, row);

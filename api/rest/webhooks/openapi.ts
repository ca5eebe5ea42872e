import { DELIVERY_STATUSES } from '../../../shared/domain/webhooks/deliveries.ts';
import { CommissionData, LowCreditsData, PayoutData, TopupData } from '../../../shared/presenters/webhookData.ts';
import { WebhookEndpointResponse } from '../../../shared/presenters/webhookEndpoint.ts';
import { FILTERED_ITEMS_MAX, WEBHOOK_ENDPOINTS_MAX } from '../../../shared/spec/limits.ts';
import { KEY_MODES } from '../../../shared/spec/testMode.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID, examplePage } from '../openapi/examples.ts';
import {
  type FeatureDescription,
  type Operation,
  type OperationParameter,
  PAGE_PARAMETER,
} from '../openapi/feature.ts';
import { pageResponse } from '../pagination.ts';
import {
  CreateWebhookRequest,
  DefaultSecretResponse,
  DeliveryResponse,
  UpdateWebhookRequest,
  WebhookEndpointWithSecretResponse,
} from './schemas.ts';

const EXAMPLE_URL = 'https://example.com/webhooks';
const EXAMPLE_KEYS = {
  secret: `whsec_${'A'.repeat(43)}=`,
  public_key: `whpk_${'A'.repeat(43)}=`,
};

export const EXAMPLE_ENDPOINT = {
  uuid: EXAMPLE_UUID,
  url: EXAMPLE_URL,
  events: ['generation.succeeded', 'generation.failed'],
  description: 'Production',
  enabled: true,
  disabled_reason: null,
  failing_since: null,
  public_key: EXAMPLE_KEYS.public_key,
  created_at: EXAMPLE_TIMESTAMP,
};

const EXAMPLE_DELIVERY = {
  uuid: EXAMPLE_UUID,
  event_uuid: '01939b6e-61c0-7b2e-8a4c-52d0e7f91b33',
  type: 'generation.succeeded',
  url: EXAMPLE_URL,
  status: 'pending',
  attempts: 1,
  next_attempt_at: '2026-11-21T09:30:05.000Z',
  last_attempt_at: EXAMPLE_TIMESTAMP,
  last_status: 500,
  last_error: 'status 500',
  delivered_at: null,
  created_at: EXAMPLE_TIMESTAMP,
};

const withSecret = (status: 200 | 201, description: string): Operation['response'] => ({
  status,
  description,
  schema: WebhookEndpointWithSecretResponse,
  example: { ...EXAMPLE_ENDPOINT, secret: EXAMPLE_KEYS.secret },
});

const endpoint = (description: string): Operation['response'] => ({
  status: 200,
  description,
  schema: WebhookEndpointResponse,
  example: EXAMPLE_ENDPOINT,
});

const pendingDelivery = (description: string): Operation['response'] => ({
  status: 200,
  description,
  schema: DeliveryResponse,
  example: {
    ...EXAMPLE_DELIVERY,
    attempts: 0,
    next_attempt_at: EXAMPLE_TIMESTAMP,
    last_attempt_at: null,
    last_status: null,
    last_error: null,
  },
});

const MODE_PARAMETER: OperationParameter = {
  name: 'mode',
  in: 'query',
  description: '`test`: the secret of test mode. Requires a test key of the account',
  schema: { type: 'string', enum: KEY_MODES, default: 'live' },
};

const defaultSecret = (description: string): Operation['response'] => ({
  status: 200,
  description,
  schema: DefaultSecretResponse,
  example: { uuid: EXAMPLE_UUID, ...EXAMPLE_KEYS },
});

export const WEBHOOKS_DESCRIPTION: FeatureDescription = {
  tag: {
    name: 'Webhooks',
    description:
      'Requests that the service sends when something happens, signed according to Standard Webhooks 1.0.0. Each event is delivered at least once; `webhook-id` identifies it.',
  },
  schemas: {
    WebhookEndpoint: WebhookEndpointResponse,
    WebhookEndpointWithSecret: WebhookEndpointWithSecretResponse,
    WebhookDelivery: DeliveryResponse,
    LowCredits: LowCreditsData,
    Topup: TopupData,
    Commission: CommissionData,
    Payout: PayoutData,
  },
  operations: {
    'POST /api/webhooks/create/': {
      id: 'createWebhook',
      summary: 'Create a webhook endpoint',
      description: `The secret is returned in this response only. An account has at most ${WEBHOOK_ENDPOINTS_MAX} endpoints.`,
      body: {
        schema: CreateWebhookRequest,
        examples: {
          all: { url: EXAMPLE_URL },
          some: { url: EXAMPLE_URL, events: EXAMPLE_ENDPOINT.events, description: 'Production' },
        },
      },
      response: withSecret(201, 'The created endpoint.'),
      acceptsIdempotencyKey: true,
    },
    'GET /api/webhooks/': {
      id: 'listWebhooks',
      summary: 'List webhook endpoints, newest first',
      parameters: [PAGE_PARAMETER],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(WebhookEndpointResponse),
        example: examplePage(EXAMPLE_ENDPOINT),
      },
    },
    'GET /api/webhooks/:uuid/': {
      id: 'getWebhook',
      summary: 'Get a webhook endpoint',
      response: endpoint('The endpoint.'),
    },
    'PATCH /api/webhooks/:uuid/': {
      id: 'updateWebhook',
      summary: 'Update a webhook endpoint',
      description:
        'Fields that are absent stay as they are. `enabled: false` fails pending deliveries; `enabled: true` also enables an endpoint that was disabled because it failed.',
      body: { schema: UpdateWebhookRequest, example: { enabled: true } },
      response: endpoint('The updated endpoint.'),
    },
    'DELETE /api/webhooks/:uuid/': {
      id: 'deleteWebhook',
      summary: 'Delete a webhook endpoint',
      description: 'Deletes its deliveries too. Pending ones are not sent.',
      response: { status: 204, description: 'The endpoint was deleted.' },
    },
    'POST /api/webhooks/:uuid/rotate-secret/': {
      id: 'rotateWebhookSecret',
      summary: 'Rotate the keys of a webhook endpoint',
      description:
        'For 24 hours messages are also signed with the former keys. A second rotation within this time ends the keys before the first.',
      response: withSecret(200, 'The endpoint with its new secret.'),
      acceptsIdempotencyKey: true,
    },
    'POST /api/webhooks/:uuid/test/': {
      id: 'testWebhook',
      summary: 'Send a test event',
      description:
        'Sends `webhook.test` to the endpoint, whatever types it receives. A 400 while the endpoint is disabled.',
      response: pendingDelivery('The delivery of the event.'),
    },
    'GET /api/webhooks/:uuid/deliveries/': {
      id: 'listWebhookDeliveries',
      summary: 'List deliveries, newest first',
      description: `Deliveries are kept for 30 days. At most ${FILTERED_ITEMS_MAX} are counted and shown: a \`total_items\` of ${FILTERED_ITEMS_MAX + 1} means that there are more, and a page after those is a 400. Takes also the \`uuid\` of \`GET /api/webhooks/default/secret/\`.`,
      parameters: [
        PAGE_PARAMETER,
        {
          name: 'status',
          in: 'query',
          description: 'Only deliveries with this status.',
          schema: { type: 'string', enum: [...DELIVERY_STATUSES] },
        },
      ],
      response: {
        status: 200,
        description: 'One page of the list.',
        schema: pageResponse(DeliveryResponse),
        example: examplePage(EXAMPLE_DELIVERY),
      },
    },
    'POST /api/webhooks/:uuid/deliveries/:delivery/redeliver/': {
      id: 'redeliverWebhook',
      summary: 'Deliver an event again',
      description:
        'Starts a new round of attempts with the same `webhook-id`. A 400 while the delivery is pending or the endpoint is disabled.',
      response: pendingDelivery('The delivery, which is pending again.'),
    },
    'GET /api/webhooks/default/secret/': {
      id: 'getDefaultWebhookSecret',
      summary: 'Get the default secret',
      description:
        'Signs the events of generations that were created with a `webhook_url`; with `mode=test`, of those that a test key created.',
      parameters: [MODE_PARAMETER],
      errorCodes: ['not_found', 'insufficient_scope'],
      response: defaultSecret('The default secret.'),
    },
    'POST /api/webhooks/default/rotate-secret/': {
      id: 'rotateDefaultWebhookSecret',
      summary: 'Rotate the default secret',
      description: 'For 24 hours messages are also signed with the former keys.',
      parameters: [MODE_PARAMETER],
      errorCodes: ['not_found', 'insufficient_scope'],
      response: defaultSecret('The new default secret.'),
    },
  },
};

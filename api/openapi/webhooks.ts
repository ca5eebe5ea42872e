import Type, { type TSchema } from 'typebox';
import { Timestamp } from '../../shared/presenters/fields.ts';
import { getWebhookDataSchemas } from '../../shared/presenters/webhookData.ts';
import { WebhookEndpointResponse } from '../../shared/presenters/webhookEndpoint.ts';
import { WEBHOOK_TEST_TYPE, type WebhookEventType } from '../../shared/spec/events.ts';
import { findEndpoint } from '../features/index.ts';
import { EXAMPLE_ENDPOINT, WEBHOOKS_TAG } from '../features/webhooks/endpoints.ts';
import { resolve } from '../lazy.ts';
import type { SuccessResponse } from '../pipeline/endpoint.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID } from './examples.ts';
import type { SchemaRegistry } from './schemaRegistry.ts';

type MessageType = WebhookEventType | typeof WEBHOOK_TEST_TYPE;

const getDataSchemas = (): Record<MessageType, TSchema> => ({
  ...getWebhookDataSchemas(),
  [WEBHOOK_TEST_TYPE]: WebhookEndpointResponse,
});

const SUMMARIES: Record<MessageType, string> = {
  'generation.succeeded': 'A generation succeeded',
  'generation.failed': 'A generation failed and was refunded',
  'credits.low': 'The balance fell below the threshold',
  'credits.granted': 'Credits were granted',
  'topup.succeeded': 'A top-up was paid and credited',
  'topup.failed': 'A top-up failed',
  'subscription.updated': 'The subscription changed',
  'key.created': 'An API key was created',
  'key.revoked': 'An API key was revoked',
  'affiliate.commission': 'A commission was earned',
  'affiliate.payout': 'A payout was sent',
  [WEBHOOK_TEST_TYPE]: 'A test of an endpoint was requested',
};

/** Routes whose response has the `data` of a type of webhook, and what is different in the example. */
const EXAMPLE_SOURCES: Partial<Record<MessageType, [route: string, changes?: Record<string, unknown>]>> = {
  'generation.succeeded': ['GET /api/generations/:uuid/'],
  'generation.failed': [
    'GET /api/generations/:uuid/',
    { status: 'failed', output_url: null, thumbnail_url: null, error_message: 'The provider rejected the prompt.' },
  ],
  'credits.granted': [
    'GET /api/ledger/',
    { entry_type: 'grant', amount: 1_100, balance_after: 1_100, description: 'Monthly credits: Pro plan' },
  ],
  'subscription.updated': ['GET /api/billing/status/'],
  'key.created': ['GET /api/keys/'],
  'key.revoked': ['GET /api/keys/', { revoked: true }],
};

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

const HEADERS = [
  header('webhook-id', 'Identifies the event: the same in every attempt.', `msg_${EXAMPLE_UUID}`),
  header('webhook-timestamp', 'Time of the attempt, in seconds since 1970.', '1763717400'),
  header(
    'webhook-signature',
    'Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

/** Builds the `webhooks` section of the document: one request for each type of event. */
export function buildWebhooksObject(schemas: SchemaRegistry): Record<string, unknown> {
  const types = Object.keys(getDataSchemas()) as MessageType[];
  return Object.fromEntries(types.map((type) => [type, { post: buildMessageObject(schemas, type) }]));
}

function buildMessageObject(schemas: SchemaRegistry, type: MessageType) {
  const data = buildExample(type);
  const schema = Type.Object({
    type: Type.String({ const: type }),
    timestamp: Type.Unsafe({ ...Timestamp, description: 'Time of the event' }),
    data: getDataSchemas()[type],
  });
  const example = { value: { type, timestamp: EXAMPLE_TIMESTAMP, data } };
  return {
    operationId: `on${type.replaceAll(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [WEBHOOKS_TAG.name],
    summary: SUMMARIES[type],
    security: [],
    parameters: HEADERS,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: schemas.resolve(schema),
          ...(data === undefined ? {} : { examples: { usual: example } }),
        },
      },
    },
    responses: {
      '2XX': { description: 'The message was received. The body of the response is ignored.' },
      '410': { description: 'The endpoint is disabled and receives no further messages.' },
      default: { description: 'Every other response is a failure: the message is sent again later.' },
    },
  };
}

function buildExample(type: MessageType): unknown {
  if (type === WEBHOOK_TEST_TYPE) return EXAMPLE_ENDPOINT;
  const [route, changes] = EXAMPLE_SOURCES[type] ?? [];
  if (route === undefined) return undefined;
  const response = findEndpoint(route)?.endpoint.response;
  const { example } = resolve(response as SuccessResponse) as { example: { data?: object[] } };
  return { ...(example.data?.[0] ?? example), ...changes };
}

import Type from 'typebox';
import { DELIVERY_STATUSES } from '../../../shared/domain/webhooks/deliveries.ts';
import {
  countOrNull,
  NO_OTHER_FIELDS,
  textOrNull,
  Timestamp,
  timestampOrNull,
  Uuid,
  WebhookUrl,
} from '../../../shared/presenters/fields.ts';
import { WebhookEndpointResponse } from '../../../shared/presenters/webhookEndpoint.ts';
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../../../shared/spec/events.ts';
import { WEBHOOK_DESCRIPTION_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { WEBHOOK_ATTEMPTS_STORED, WEBHOOK_RESPONSE_STORED_BYTES } from '../../../shared/spec/webhookDelivery.ts';

const Secret = Type.String({
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  description: 'Verifies signatures of the version `v1`',
});

export const WebhookEndpointWithSecretResponse = Type.Object({
  ...WebhookEndpointResponse.properties,
  secret: Secret,
});

export const DefaultSecretResponse = Type.Object({
  uuid: Uuid,
  secret: Secret,
  public_key: WebhookEndpointResponse.properties.public_key,
});

export const DeliveryResponse = Type.Object({
  uuid: Uuid,
  event_uuid: Type.String({ format: 'uuid', description: '`webhook-id` is `msg_` and this' }),
  type: Type.String({ description: 'Type of the event' }),
  url: Type.String({ description: 'Address of the next attempt, or of the last one' }),
  status: Type.Enum([...DELIVERY_STATUSES]),
  attempts: Type.Integer({ description: 'Attempts since the event, or since the delivery was started again' }),
  next_attempt_at: timestampOrNull('null unless `status` is `pending`'),
  last_attempt_at: timestampOrNull(),
  last_status: countOrNull({ description: 'HTTP status of the last response; null if there was none' }),
  last_error: textOrNull({ description: 'Reason why the last attempt failed' }),
  last_duration_ms: countOrNull({ description: 'Duration of the last attempt; null if there was none' }),
  delivered_at: timestampOrNull('null unless `status` is `succeeded`'),
  created_at: Timestamp,
});

const DeliveryAttemptResponse = Type.Object({
  sent_at: Type.String({ format: 'date-time', description: 'ISO 8601, UTC. `webhook-timestamp` is this in seconds' }),
  duration_ms: Type.Integer(),
  status: countOrNull({ description: 'HTTP status of the response; null if there was none' }),
  error: textOrNull({ description: 'Reason why the attempt failed; null if it succeeded' }),
  signature: textOrNull({ description: '`webhook-signature` of the request; null if none was sent' }),
  response_body: textOrNull({
    description: `The first ${WEBHOOK_RESPONSE_STORED_BYTES} bytes of the response; null if it is empty or not UTF-8 text`,
  }),
  response_is_binary: Type.Boolean({ description: 'True if the response is not UTF-8 text' }),
});

export const DeliveryDetailsResponse = Type.Object({
  ...DeliveryResponse.properties,
  body: Type.String({ description: 'The body that each attempt sends' }),
  attempt_log: Type.Array(DeliveryAttemptResponse, {
    description: `The attempts, oldest first; the latest ${WEBHOOK_ATTEMPTS_STORED} if there are more`,
  }),
});

const EventTypes = Type.Unsafe<WebhookEventType[] | null>({
  type: ['array', 'null'],
  items: { type: 'string', enum: WEBHOOK_EVENT_TYPES },
  minItems: 1,
  description: 'Types of events that it receives; null for all, including those that are added later',
});

const Description = Type.String({ trimmed: true, maxLength: WEBHOOK_DESCRIPTION_MAX_CHARACTERS, format: 'text' });

export const CreateWebhookRequest = Type.Object(
  { url: WebhookUrl, events: Type.Optional(EventTypes), description: Type.Optional(Description) },
  NO_OTHER_FIELDS,
);

export const UpdateWebhookRequest = Type.Object(
  {
    url: Type.Optional(WebhookUrl),
    events: Type.Optional(EventTypes),
    description: Type.Optional(Description),
    enabled: Type.Optional(Type.Boolean()),
  },
  NO_OTHER_FIELDS,
);

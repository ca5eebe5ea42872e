import Type, { type Static } from 'typebox';
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../spec/events.ts';
import type { WebhookEndpoint } from '../tables/WebhookEndpoint.ts';
import { Timestamp, timestampOrNull, Uuid } from './fields.ts';

export const WebhookEndpointResponse = Type.Object({
  uuid: Uuid,
  url: Type.String(),
  events: Type.Unsafe<WebhookEventType[] | null>({
    type: ['array', 'null'],
    items: { type: 'string', enum: WEBHOOK_EVENT_TYPES },
    description: 'Types of events that it receives; null for all',
  }),
  description: Type.String(),
  enabled: Type.Boolean(),
  disabled_reason: Type.Unsafe<WebhookEndpoint['disabled_reason']>({
    type: ['string', 'null'],
    enum: ['owner', 'gone', 'failing', null],
    description:
      '`owner`: by the owner, or by support with all access to the account. `gone`: it answered 410. `failing`: all attempts of five days failed',
  }),
  failing_since: timestampOrNull('The first failed attempt since the last successful one'),
  public_key: Type.String({ pattern: '^whpk_', description: 'Verifies signatures of the version `v1a`' }),
  created_at: Timestamp,
});

export function presentWebhookEndpoint(row: WebhookEndpoint): Static<typeof WebhookEndpointResponse> {
  return {
    uuid: row.uuid,
    // Only the default endpoint has none, and it is not presented.
    url: row.url ?? '',
    events: row.events,
    description: row.description,
    enabled: row.disabled_at === null,
    disabled_reason: row.disabled_reason,
    failing_since: row.failing_since,
    public_key: row.public_key,
    created_at: row.created_at,
  };
}

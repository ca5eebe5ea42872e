import type { VNode } from 'preact';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { WEBHOOK_EVENT_TYPES } from '../../../../shared/spec/events.ts';
import { WEBHOOK_DESCRIPTION_MAX_CHARACTERS, WEBHOOK_URL_MAX_CHARACTERS } from '../../../../shared/spec/limits.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';

/** Values of the fields of an endpoint, as entered. */
export interface EndpointValues {
  url: string;
  description: string;
  /** All types, including future ones. */
  isForAll: boolean;
  /** Single types. */
  types: readonly string[];
}

export const NEW_ENDPOINT: EndpointValues = { url: '', description: '', isForAll: true, types: [] };

export function toEndpointValues({ url, description, events }: WebhookEndpoint): EndpointValues {
  return { url: url ?? '', description, isForAll: events === null, types: events ?? [] };
}

/** Reads what was entered, so that a rejected form keeps it. Undefined if this was another form. */
export function readEnteredValues(form: URLSearchParams | undefined): EndpointValues | undefined {
  const url = form?.get('url');
  if (form === undefined || url == null) return undefined;
  const description = form.get('description') ?? '';
  return { url, description, isForAll: form.has('all_events'), types: form.getAll('events') };
}

/**
 * Reads the request of a form. The parser of the API checks it.
 * @throws ServiceError validation_error if the choice of types is contradictory or empty.
 */
export function readEndpointRequest(form: URLSearchParams): object {
  const types = form.getAll('events');
  const isForAll = form.has('all_events');
  if (isForAll && types.length > 0)
    throw new ServiceError('validation_error', 'You chose all events and single types. Clear one of the two choices.');
  if (!isForAll && types.length === 0)
    throw new ServiceError('validation_error', 'Choose all events, or at least one event type.');
  return {
    url: (form.get('url') ?? '').trim(),
    description: (form.get('description') ?? '').trim(),
    events: isForAll ? null : types,
  };
}

/** Fields of the forms that add and change an endpoint. */
export function EndpointFields({ values: { url, description, isForAll, types } }: { values: EndpointValues }): VNode {
  return (
    <>
      <div class="field">
        <label for="webhook-url">Endpoint URL</label>
        <input
          id="webhook-url"
          type="text"
          name="url"
          value={url}
          required
          inputmode="url"
          maxLength={WEBHOOK_URL_MAX_CHARACTERS}
          placeholder="https://example.com/webhooks"
          autocomplete="off"
          aria-describedby="webhook-url-hint"
        />
        <span class="hint" id="webhook-url-hint">
          Public address of your server, with https. Redirects are not followed.
        </span>
      </div>
      <div class="field">
        <label for="webhook-description">Description (optional)</label>
        <input
          id="webhook-description"
          type="text"
          name="description"
          value={description}
          maxLength={WEBHOOK_DESCRIPTION_MAX_CHARACTERS}
          placeholder="Production"
          autocomplete="off"
        />
      </div>
      <fieldset class="apart">
        <legend>Event types</legend>
        <div class="choices long">
          <label>
            <input type="checkbox" name="all_events" value="on" checked={isForAll} /> All events, also future types
          </label>
          {WEBHOOK_EVENT_TYPES.map((type) => (
            <label>
              <input type="checkbox" name="events" value={type} checked={types.includes(type)} /> {type}
            </label>
          ))}
        </div>
      </fieldset>
    </>
  );
}

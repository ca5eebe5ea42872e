import { WEBHOOK_EVENT_TYPES } from '../../../../shared/spec/events.ts';
import { defineForm } from '../../../web/components/defineForm.tsx';
import { choicesField, textField } from '../../../web/components/formFields.tsx';
import { CreateWebhookRequest } from '../schemas.ts';

/** Form that adds or changes an endpoint. */
export const endpointForm = defineForm(
  { prefix: 'webhook', schema: CreateWebhookRequest },
  {
    url: textField({
      label: 'Endpoint URL',
      hint: 'Public address of your server, with https. Redirects are not followed.',
      placeholder: 'https://example.com/webhooks',
      inputmode: 'url',
    }),
    description: textField({ label: 'Description (optional)', placeholder: 'Production' }),
    events: choicesField({
      label: 'Event types',
      all: { name: 'all_events', label: 'All events, also future types' },
      items: WEBHOOK_EVENT_TYPES.map((type) => [type, type]),
      errors: {
        both: 'You chose all events and single types. Clear one of the two choices.',
        none: 'Choose all events, or at least one event type.',
      },
    }),
  },
);

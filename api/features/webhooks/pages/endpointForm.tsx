import { WEBHOOK_EVENT_TYPES } from '../../../../shared/spec/events.ts';
import { defineForm } from '../../../web/components/defineForm.tsx';
import { choicesField, textField } from '../../../web/components/formFields.tsx';
import { CreateWebhookRequest } from '../schemas.ts';
import { t } from './texts.ts';

/** Form that adds or changes an endpoint. */
export const endpointForm = defineForm(
  { prefix: 'webhook', schema: CreateWebhookRequest },
  {
    url: textField({
      label: t.url,
      hint: t.urlHint,
      placeholder: 'https://example.com/webhooks',
      inputmode: 'url',
    }),
    description: textField({ label: t.description, placeholder: t.production }),
    events: choicesField({
      label: t.eventTypes,
      all: { name: 'all_events', label: t.allTypes },
      items: WEBHOOK_EVENT_TYPES.map((type) => [type, type]),
      errors: {
        both: 'You chose all events and single types. Clear one of the two choices.',
        none: 'Choose all events, or at least one event type.',
      },
    }),
  },
);

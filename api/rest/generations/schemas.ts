import Type from 'typebox';
import { getCatalog, getModelSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { PROMPT_MAX_CHARACTERS, WEBHOOK_URL_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { NO_OTHER_FIELDS } from '../../../shared/presenters/fields.ts';

const buildCreateGenerationRequest = (slugs: string[]) =>
  Type.Object(
    {
      model: Type.Enum(slugs),
      prompt: Type.String({ trimmed: true, minLength: 1, maxLength: PROMPT_MAX_CHARACTERS, format: 'text' }),
      // Validated by the schema of the model: see the catalog.
      params: Type.Object({}),
      // Validated by `parseWebhookUrl`.
      webhook_url: Type.Optional(
        Type.String({
          maxLength: WEBHOOK_URL_MAX_CHARACTERS,
          description: 'Receives the webhook of its end, beside the endpoints of the account',
        }),
      ),
      // Validated by `parseMetadata`.
      metadata: Type.Optional(Type.Object({})),
      max_credits: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'Largest accepted price. A higher price is a 400, and nothing is charged',
        }),
      ),
    },
    NO_OTHER_FIELDS,
  );

/** Body of a create with one of the models that are listed. */
export const getCreateGenerationRequest = perService(() =>
  buildCreateGenerationRequest(getCatalog().models.flatMap(({ slug, hidden }) => (hidden ? [] : [slug]))),
);

/** Body of a create with any model. Hidden ones are accepted, and named in no error and no document. */
export const getHiddenGenerationRequest = perService(() => buildCreateGenerationRequest(getModelSlugs()));

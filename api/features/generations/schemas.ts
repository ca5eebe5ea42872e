import Type, { type TSchema } from 'typebox';
import { getModelSlugs, getOfferedModels } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { NO_OTHER_FIELDS } from '../../../shared/presenters/fields.ts';
import {
  METADATA_KEY_MAX_CHARACTERS,
  METADATA_PAIRS_MAX,
  METADATA_VALUE_MAX_CHARACTERS,
  PROMPT_MAX_CHARACTERS,
  WEBHOOK_URL_MAX_CHARACTERS,
} from '../../../shared/spec/limits.ts';

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
          format: 'text',
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
  buildCreateGenerationRequest(getOfferedModels().map(({ slug }) => slug)),
);

/** Body of a create with any model. Hidden ones are accepted, and named in no error and no document. */
export const getHiddenGenerationRequest = perService(() => buildCreateGenerationRequest(getModelSlugs()));

/** Builds a schema that accepts what any of these schemas accepts. */
const buildChoice = ([first, ...others]: TSchema[]): object =>
  others.length === 0 ? { ...first } : { anyOf: [first, ...others] };

/** Body of a create with the `params` of the models and the limits of `metadata`, for the OpenAPI document. */
export const getDocumentedGenerationRequest = perService((): TSchema => {
  const request = getCreateGenerationRequest();
  return {
    ...request,
    properties: {
      ...request.properties,
      params: {
        ...buildChoice(getOfferedModels().map(({ params }) => params)),
        description: 'Options of the model: see `GET /api/models/`',
      },
      metadata: {
        type: 'object',
        maxProperties: METADATA_PAIRS_MAX,
        propertyNames: { minLength: 1, maxLength: METADATA_KEY_MAX_CHARACTERS },
        additionalProperties: { type: 'string', maxLength: METADATA_VALUE_MAX_CHARACTERS },
        description: 'Pairs of strings that are returned with the generation, and by which lists can be filtered',
      },
    },
  };
});

/** Names of the parameters of the default models in the document. */
const PARAMS_NAMES: Readonly<Record<string, string>> = { 'vidmodel-video': 'VideoParams', 'imgmodel-2': 'ImageParams' };

/** Returns the schemas of the parameters of all models that are listed, by their names in the document. */
export const nameParamsSchemas = (): Record<string, TSchema> =>
  Object.fromEntries(getOfferedModels().map(({ slug, params }) => [PARAMS_NAMES[slug] ?? `${slug}-params`, params]));

import Type from 'typebox';
import { type GenerationParams, ImageParams, MODEL_SLUGS, VideoParams } from '../../../shared/spec/catalog.ts';
import { PROMPT_MAX_CHARACTERS } from '../../../shared/spec/limits.ts';
import { GENERATION_STATUSES } from '../../../shared/spec/states.ts';
import { countOrNull, NO_OTHER_FIELDS, textOrNull, Timestamp, timestampOrNull, Uuid } from '../fieldSchemas.ts';

/** Parameters of a generation, including the defaults that were filled in. */
const ShownParams = Type.Unsafe<GenerationParams>({
  anyOf: [Type.Object(VideoParams.properties), Type.Object(ImageParams.properties)],
  description: 'The requested parameters, including defaults',
});

export const GenerationResponse = Type.Object({
  uuid: Uuid,
  model: Type.Enum([...MODEL_SLUGS]),
  model_name: Type.String(),
  kind: Type.Enum(['video', 'image']),
  prompt: Type.String(),
  params: ShownParams,
  status: Type.Enum([...GENERATION_STATUSES]),
  output_url: textOrNull({ description: 'Download address; null until succeeded' }),
  thumbnail_url: textOrNull({
    description: 'Address of a small preview; null until succeeded, or if none could be created',
  }),
  credits_charged: Type.Integer(),
  error_message: textOrNull({ description: 'Reason of the failure; the credits were refunded' }),
  created_at: Timestamp,
  completed_at: timestampOrNull(),
  duration_ms: countOrNull({ description: 'From created_at to completed_at' }),
  is_watermarked: Type.Boolean(),
});

export const CreateGenerationRequest = Type.Object(
  {
    model: Type.Enum([...MODEL_SLUGS]),
    prompt: Type.String({ trimmed: true, minLength: 1, maxLength: PROMPT_MAX_CHARACTERS, format: 'text' }),
    // Validated by the schema of the model: see the catalog.
    params: Type.Object({}),
  },
  NO_OTHER_FIELDS,
);

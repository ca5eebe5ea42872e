import Type, { type Static } from 'typebox';
import { perService } from '../lib/serviceScope.ts';
import { countOrNull } from './fields.ts';
import { buildModelSchema, buildShownParams } from './generation.ts';

/** Price of a create, and what it would do now. */
export const getEstimateResponse = perService(() =>
  Type.Object({
    model: buildModelSchema(),
    params: buildShownParams(),
    credits: Type.Integer({ description: 'Price of the generation' }),
    balance: Type.Integer(),
    balance_after: Type.Integer({ description: 'Balance less the price; negative by the credits that are missing' }),
    affordable: Type.Boolean({ description: 'Whether the balance covers the price' }),
    usual_seconds: countOrNull({
      description: 'Median time that recent runs of the model took; null while it is not known',
    }),
    refusal: Type.Unsafe<{ error: string; detail: string } | null>({
      anyOf: [
        Type.Object({
          error: Type.Enum([
            'subscription_required',
            'model_unavailable',
            'parallel_limit_reached',
            'spending_limit_reached',
            'insufficient_credits',
          ]),
          detail: Type.String(),
        }),
        Type.Null(),
      ],
      description: 'Error with which a create would be rejected now; null if it would be accepted',
    }),
  }),
);
export type EstimateResponse = Static<ReturnType<typeof getEstimateResponse>>;

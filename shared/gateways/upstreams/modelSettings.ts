import Type, { type Static } from 'typebox';
import type { Template } from '../../lib/template.ts';

/** Upper bound for the price of a run or of a second, to catch typing errors. */
export const PRICE_MAX_CENTS = 100_000;

/** Schema of a price in cents. */
const PriceTemplate = Type.Unsafe<Template>(
  Type.Union([Type.Number({ minimum: 0, maximum: PRICE_MAX_CENTS }), Type.Object({})], {
    description: `a number from 0 to ${PRICE_MAX_CENTS}, or a table with "$by"`,
  }),
);

/** Settings of a model of an upstream: its input, and the price of a completed run, in cents. */
export const ModelSettings = Type.Object(
  {
    input: Type.Optional(Type.Unsafe<Template>(Type.Object({}))),
    cents: Type.Optional(PriceTemplate),
    cents_per_second: Type.Optional(PriceTemplate),
  },
  { additionalProperties: false },
);
export type ModelSettings = Static<typeof ModelSettings>;

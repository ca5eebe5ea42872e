import Type from 'typebox';
import { MODEL_SLUGS } from '../shared/spec/catalog.ts';
import { GENERATION_STATUSES } from '../shared/spec/states.ts';
import { PLAN_SLUGS } from '../shared/spec/plans.ts';

/** The shapes of answers, as `presenters.ts` makes them (spec: Resources and their fields). */
const orNull = (type: 'string' | 'integer', options: Record<string, unknown> = {}) =>
  Type.Unsafe<string | number | null>({ type: [type, 'null'], ...options });
const Timestamp = Type.String({ description: 'ISO 8601, UTC' });

export const GenerationAnswer = Type.Object({
  uuid: Type.String(),
  model: Type.Enum([...MODEL_SLUGS]),
  model_name: Type.String(),
  kind: Type.Enum(['video', 'image']),
  prompt: Type.String(),
  params: Type.Object({}),
  status: Type.Enum([...GENERATION_STATUSES]),
  output_url: orNull('string', { description: 'Where to download it; null until succeeded' }),
  thumbnail_url: orNull('string'),
  credits_charged: Type.Integer(),
  error_message: orNull('string', { description: 'Why it failed; its credits were refunded' }),
  created_at: Timestamp,
  completed_at: orNull('string'),
  duration_ms: orNull('integer'),
  is_watermarked: Type.Boolean(),
});

/** A list's envelope. */
export const pageOf = <Item extends Type.TSchema>(item: Item) =>
  Type.Object({
    pagination: Type.Object({
      next: orNull('string'),
      previous: orNull('string'),
      current_page: Type.Integer(),
      total_pages: Type.Integer(),
      total_items: Type.Integer(),
    }),
    data: Type.Array(item),
  });

export const UsageAnswer = Type.Object({
  plan: Type.Unsafe<object | null>({
    type: ['object', 'null'],
    properties: {
      slug: { type: 'string', enum: [...PLAN_SLUGS] },
      name: { type: 'string' },
      monthly_credits: { type: 'integer' },
      parallel_limit: { type: 'integer' },
      price_monthly_cents: { type: 'integer' },
    },
  }),
  credits: Type.Object({
    balance: Type.Integer(),
    used_this_period: Type.Integer(),
    granted_this_period: Type.Integer(),
    rollover: Type.Integer(),
    period_start: orNull('string'),
    period_end: orNull('string'),
  }),
  jobs: Type.Object({ in_flight: Type.Integer(), parallel_limit: Type.Integer() }),
  history: Type.Array(Type.Object({ date: Type.String(), credits_used: Type.Integer(), generations: Type.Integer() }), {
    description: 'The last 30 days, today last',
  }),
  by_model: Type.Array(Type.Object({ model: Type.String(), credits: Type.Integer(), count: Type.Integer() })),
});

/** What every refusal looks like. */
export const ErrorAnswer = Type.Object({
  error: Type.String({ description: 'A stable code, such as insufficient_credits' }),
  detail: Type.String({ description: 'A sentence that says what to do' }),
});

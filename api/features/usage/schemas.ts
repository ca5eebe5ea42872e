import Type from 'typebox';
import { getPlanSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { objectOrNull, timestampOrNull, Uuid } from '../../../shared/presenters/fields.ts';

export const KeyUsageResponse = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: 'The first 12 characters of the key' }),
  revoked: Type.Boolean(),
  credits: Type.Integer({ description: 'Credits of the generations that the key created, less refunds' }),
  count: Type.Integer({ description: 'Generations that the key created, including failed and deleted ones' }),
});

export const MemberUsageResponse = Type.Object({
  uuid: Uuid,
  email: Type.String(),
  removed: Type.Boolean({ description: 'True for one who left or was removed' }),
  credits: Type.Integer({ description: 'Credits of the generations that the member created, less refunds' }),
  count: Type.Integer({ description: 'Generations that the member created, including failed and deleted ones' }),
});

export const getUsageResponse = perService(() =>
  Type.Object({
    plan: objectOrNull(
      Type.Object({
        slug: Type.Enum(getPlanSlugs()),
        name: Type.String(),
        monthly_credits: Type.Integer(),
        parallel_limit: Type.Integer(),
        price_monthly_cents: Type.Integer(),
      }),
      'null without an active subscription',
    ),
    credits: Type.Object({
      balance: Type.Integer(),
      used_this_period: Type.Integer(),
      granted_this_period: Type.Integer(),
      rollover: Type.Integer(),
      period_start: timestampOrNull(),
      period_end: timestampOrNull(),
    }),
    jobs: Type.Object({ in_flight: Type.Integer(), parallel_limit: Type.Integer() }),
    history: Type.Array(
      Type.Object({
        date: Type.String({ format: 'date' }),
        credits_used: Type.Integer(),
        generations: Type.Integer(),
      }),
      { description: 'The last 30 days, today last' },
    ),
    by_model: Type.Array(
      Type.Object({
        model: Type.String({ description: 'Display name' }),
        credits: Type.Integer(),
        count: Type.Integer(),
      }),
    ),
  }),
);

import Type, { type Static } from 'typebox';
import {
  type CreatedGiftCode,
  createGiftCode,
  listGiftCodes,
  redeemGiftCode,
  revokeGiftCode,
} from '../../../shared/domain/adjustments/giftCodes.ts';
import { ADJUSTMENT_MAX_CREDITS } from '../../../shared/domain/adjustments/creditAdjustments.ts';
import { INSTANT_FORM, parseInstant } from '../../../shared/lib/instant.ts';
import { NO_OTHER_FIELDS, presentAs, Timestamp, timestampOrNull, Uuid } from '../../../shared/presenters/fields.ts';
import type { GiftCode } from '../../../shared/tables/GiftCode.ts';
import { type Context, requireActor } from '../../context.ts';
import { EXAMPLE_TIMESTAMP, EXAMPLE_UUID } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { ListQuery, pageResponse, presentPage } from '../../pipeline/lists.ts';

export const RedeemRequest = Type.Object(
  { code: Type.String({ trimmed: true, minLength: 1, maxLength: 100, format: 'text' }) },
  NO_OTHER_FIELDS,
);

export const CreateGiftCodeRequest = Type.Object(
  {
    credits: Type.Integer({ minimum: 1, maximum: ADJUSTMENT_MAX_CREDITS, description: 'Credits of one redemption' }),
    uses: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 1,
      description: 'Number of accounts that may redeem it, once each',
    }),
    expires_at: Type.Optional(
      Type.Union([Type.String({ format: 'instant', expected: INSTANT_FORM }), Type.Null()], {
        description: 'Time from which it cannot be redeemed, or a date, which is its start in UTC; null for never',
      }),
    ),
    note: Type.String({
      trimmed: true,
      minLength: 1,
      maxLength: 200,
      format: 'text',
      description: 'For staff and the audit log; customers do not see it',
    }),
  },
  NO_OTHER_FIELDS,
);

export const RedeemedGiftCodeResponse = Type.Object({
  credits: Type.Integer({ description: 'Credits of the code' }),
  balance: Type.Integer({ description: 'Balance after them' }),
});

const GiftCodeResponse = Type.Object({
  uuid: Uuid,
  prefix: Type.String({ description: 'The part of the code by which people recognize it' }),
  credits: Type.Integer(),
  uses: Type.Integer({ description: 'Redemptions so far' }),
  uses_max: Type.Integer(),
  expires_at: timestampOrNull(),
  revoked_at: timestampOrNull(),
  note: Type.String(),
  created_at: Timestamp,
});

const CreatedGiftCodeResponse = Type.Object({
  ...GiftCodeResponse.properties,
  code: Type.String({ description: 'The code, shown only once' }),
});

const presentGiftCode = (row: GiftCode) => presentAs(GiftCodeResponse, row);

const presentCreatedGiftCode = ({ code, row }: CreatedGiftCode) => ({ ...presentGiftCode(row), code });

const EXAMPLE_GIFT_CODE = {
  uuid: EXAMPLE_UUID,
  prefix: 'GIFT-7K2M',
  credits: 100,
  uses: 0,
  uses_max: 50,
  expires_at: '2027-06-30T00:00:00.000Z',
  revoked_at: null,
  note: 'Workshop in Lisbon',
  created_at: EXAMPLE_TIMESTAMP,
};

/** Creates the code that a member of staff requests. */
export function createRequestedCode(
  ctx: Context,
  { credits, uses, expires_at: expiresAt = null, note }: Static<typeof CreateGiftCodeRequest>,
  onCreated: Parameters<typeof createGiftCode>[2],
): Promise<CreatedGiftCode> {
  const code = { credits, uses, expiresAt: expiresAt === null ? null : parseInstant(expiresAt) };
  return createGiftCode(requireActor(ctx, note), code, onCreated);
}

export const GIFT_CODES: Feature = {
  tag: { name: 'Gift codes', description: 'Codes that customers redeem for credits.' },
  schemas: { GiftCode: GiftCodeResponse, RedeemedGiftCode: RedeemedGiftCodeResponse },
  endpoints: [
    defineEndpoint({
      id: 'redeemGiftCode',
      route: 'POST /api/gift-codes/redeem/',
      policy: { needs: 'manageBilling', access: 'account', rateLimit: 'payment' },
      summary: 'Redeem a gift code',
      description:
        'Adds its credits to the balance, once for each account. They do not expire at the end of the month. A 400 says why a code cannot be redeemed.',
      request: RedeemRequest,
      example: { code: 'GIFT-7K2M-9QXW-4HTD-0B3R' },
      response: {
        description: 'The credits were added.',
        schema: RedeemedGiftCodeResponse,
        example: { credits: 100, balance: 1_192 },
      },
      idempotent: true,
      run: ({ caller, body, saveResponse }) => redeemGiftCode(caller, body.code, saveResponse),
    }),
    defineEndpoint({
      id: 'createGiftCode',
      route: 'POST /api/admin/gift-codes/create/',
      policy: { permission: 'adjustCredits' },
      summary: 'Create a gift code',
      description:
        'The code is returned in this response only. All its redemptions count against the daily limit of the member.',
      request: CreateGiftCodeRequest,
      example: { credits: 100, uses: 50, expires_at: '2027-06-30', note: 'Workshop in Lisbon' },
      response: {
        status: 201,
        description: 'The created code.',
        schema: CreatedGiftCodeResponse,
        example: { ...EXAMPLE_GIFT_CODE, code: 'GIFT-7K2M-9QXW-4HTD-0B3R' },
      },
      idempotent: true,
      run: async ({ ctx, body, saveResponse }) => {
        const created = await createRequestedCode(ctx, body, (transaction, done) =>
          saveResponse(transaction, presentCreatedGiftCode(done)),
        );
        return presentCreatedGiftCode(created);
      },
    }),
    defineEndpoint({
      id: 'listGiftCodes',
      route: 'GET /api/admin/gift-codes/',
      policy: { permission: 'adjustCredits' },
      summary: 'List gift codes, newest first',
      query: ListQuery,
      response: pageResponse(GiftCodeResponse, EXAMPLE_GIFT_CODE),
      run: async ({ query }) => presentPage(await listGiftCodes(query.page), '/api/admin/gift-codes/', presentGiftCode),
    }),
    defineEndpoint({
      id: 'revokeGiftCode',
      route: 'POST /api/admin/gift-codes/:uuid/revoke/',
      policy: { permission: 'adjustCredits' },
      summary: 'Revoke a gift code',
      description: 'Takes effect immediately. What was redeemed stays. Revoking a revoked code changes nothing.',
      response: {
        description: 'The revoked code.',
        schema: GiftCodeResponse,
        example: { ...EXAMPLE_GIFT_CODE, revoked_at: EXAMPLE_TIMESTAMP },
      },
      run: async ({ ctx, uuid }) => presentGiftCode(await revokeGiftCode(requireActor(ctx, ''), uuid)),
    }),
  ],
};

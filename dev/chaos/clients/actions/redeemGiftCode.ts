import { sha256 } from '../../../../shared/lib/secrets.ts';
import { reportViolation, type Step } from '../clientState.ts';
import { getActiveKeys } from '../customers.ts';
import { sendWithKey } from '../restRequests.ts';

const CREDITS = 3;
/** Fewer than the customers that redeem a code at the same time. */
const USES = 5;
const CODES = Array.from({ length: 100 }, (_, index) => `GIFT${String(index).padStart(16, '0')}`);

/** Statement that creates the gift codes of a run. */
export const GIFT_CODES_SQL = `
  INSERT INTO gift_codes (uuid, code_hash, prefix, credits, uses_max, note, created_at)
  SELECT gen_random_uuid(), decode(hash, 'hex'), 'GIFT-0000', ${CREDITS}, ${USES}, 'chaos', now()
    FROM unnest(ARRAY['${CODES.map((code) => sha256(code).toString('hex')).join("', '")}']) AS hash`;

/** Has several customers redeem one code at the same time, each of them twice. */
export async function redeemGiftCode(step: Step): Promise<void> {
  const code = step.random.pick(CODES);
  const ready = step.state.customers.filter((customer) => customer.isReady && getActiveKeys(customer).length > 0);
  const redeem = async (customer: Step['customer']) => {
    const own = { ...step, customer };
    const responses = await Promise.all([requestRedemption(own, code), requestRedemption(own, code)]);
    if (responses.every(({ isGood }) => isGood))
      reportViolation(own, 'gift-code-is-redeemed-once', code, 'both requests were accepted');
  };
  await Promise.all(ready.slice(0, 2 * USES).map(redeem));
}

function requestRedemption(step: Step, code: string) {
  return sendWithKey(step, {
    kind: 'redeem a gift code',
    method: 'POST',
    path: '/api/gift-codes/redeem/',
    body: { code },
    expectedErrors: ['validation_error', 'rate_limited'],
    status: 200,
    shape: 'redeemedGiftCode',
  });
}

import type { ComponentChildren, VNode } from 'preact';
import {
  findGiftCode,
  listGiftCodes,
  redeemGiftCode,
  revokeGiftCode,
} from '../../../shared/domain/adjustments/giftCodes.ts';
import { now } from '../../../shared/lib/clock.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import type { GiftCode } from '../../../shared/tables/GiftCode.ts';
import { type Context, requireCaller } from '../../context.ts';
import { getForm } from '../../pipeline/body.ts';
import { executeFormOnce } from '../../pipeline/idempotency.ts';
import { redirectTo, seeOther } from '../../pipeline/redirect.ts';
import { parsePage } from '../../pipeline/lists.ts';
import { actionRoutes, type HttpRoute } from '../../pipeline/route.ts';
import { CopyText } from '../../web/components/copyText.tsx';
import { TextField } from '../../web/components/fields.tsx';
import { Form, RequestKey } from '../../web/components/form.tsx';
import { formatNumber } from '../../web/components/formatAmount.ts';
import { formatDate } from '../../web/components/formatTime.ts';
import { PageLinks } from '../../web/components/pageLinks.tsx';
import { showErrorsOn } from '../../web/components/showErrorsOn.ts';
import { sendStaffConsolePage } from '../../web/components/areaPage.tsx';
import { Table } from '../../web/components/table.tsx';
import { BILLING_PATH, renderBillingPage } from '../billing/pages/view.tsx';
import { defineAction } from '../staff/pages/actions/defineAction.tsx';
import { Section } from '../../web/components/section.tsx';
import { CreateGiftCodeRequest, createRequestedCode, RedeemRequest } from './endpoints.ts';

const STAFF_PATH = '/admin/gift-codes/';
const parseRedeem = createBodyParser(RedeemRequest);
const parseCreate = createBodyParser(CreateGiftCodeRequest);

const redeemCode = showErrorsOn(renderBillingPage)(async (ctx) => {
  const { code } = parseRedeem({ code: getForm(ctx).get('code') ?? '' });
  await redeemGiftCode(requireCaller(ctx), code);
  seeOther(ctx, `${BILLING_PATH}?done=gift`);
});

const withListErrors = showErrorsOn(renderGiftCodes);

/** Shows the code in the response to the form: a page with the code could be opened again. */
const createCode = withListErrors(async (ctx) => {
  const request = parseCreate(readForm(ctx));
  const { code } = await executeFormOnce<{ code: string }>(
    ctx,
    'staff.giftCode',
    request,
    async (_id, saveResponse) => {
      const created = await createRequestedCode(ctx, request, (transaction, done) =>
        saveResponse(transaction, { code: done.code }),
      );
      return { code: created.code };
    },
  );
  await renderGiftCodes(ctx, { code });
});

function readForm(ctx: Context) {
  const form = getForm(ctx);
  const readNumber = (name: string) => {
    const text = (form.get(name) ?? '').trim();
    return text === '' ? undefined : /^\d+$/.test(text) ? Number(text) : text;
  };
  const expiresAt = form.get('expires_at') ?? '';
  return {
    credits: readNumber('credits'),
    uses: readNumber('uses'),
    note: form.get('note') ?? '',
    ...(expiresAt === '' ? {} : { expires_at: expiresAt }),
  };
}

const revokeCode = defineAction({
  area: { current: STAFF_PATH, returnTo: 'the gift codes' },
  find: findGiftCode,
  describe: ({ prefix, uses, revoked_at: revokedAt }) => ({
    question: `Revoke the gift code ${prefix}…?`,
    consequences: <p>It cannot be redeemed any more. Its {formatNumber(uses)} redemptions so far stay.</p>,
    button: 'Revoke',
    closed: revokedAt === null ? undefined : 'This gift code is already revoked.',
    returnPath: STAFF_PATH,
  }),
  perform: async ({ uuid }, { actor }) => {
    await revokeGiftCode(actor, uuid);
    return 'revoked';
  },
});

async function renderGiftCodes(
  ctx: Context,
  { code, problem }: { code?: string; problem?: ComponentChildren } = {},
  status = 200,
): Promise<void> {
  const list = await listGiftCodes(ctx.method === 'GET' ? parsePage(ctx) : 1);
  const children = (
    <>
      {code === undefined ? null : (
        <Section id="created" title="The new code">
          <p>It is shown only once.</p>
          <CopyText id="code" text={code} label="Gift code" />
        </Section>
      )}
      <CreateForm form={problem === undefined ? new URLSearchParams() : getForm(ctx)} />
      <section class="card" aria-label="Gift codes">
        <Table
          label="Gift codes"
          columns={['Code', 'Credits', 'Redeemed', 'Expires', 'Note', 'Created', 'State']}
          numeric={['Credits', 'Redeemed']}
          empty="There are no gift codes."
          rows={list.items.map((row) => [
            `${row.prefix}…`,
            formatNumber(row.credits),
            `${formatNumber(row.uses)} of ${formatNumber(row.uses_max)}`,
            row.expires_at === null ? 'never' : formatDate(row.expires_at),
            row.note,
            formatDate(row.created_at),
            isRedeemable(row) ? <a href={`${STAFF_PATH}${row.uuid}/revoke/`}>Revoke</a> : describeEnd(row),
          ])}
        />
      </section>
      <PageLinks list={list} path={STAFF_PATH} />
    </>
  );
  const outcomes = { revoked: 'The gift code is revoked.' };
  const flash = problem === undefined ? {} : { problem };
  await sendStaffConsolePage(ctx, { current: STAFF_PATH, heading: 'Gift codes', outcomes, ...flash, children }, status);
}

const isRedeemable = (row: GiftCode) => describeEnd(row) === '';

function describeEnd({ revoked_at: revokedAt, expires_at: expiresAt, uses, uses_max: most }: GiftCode): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now()) return 'expired';
  return uses >= most ? 'used up' : '';
}

function CreateForm({ form }: { form: URLSearchParams }): VNode {
  const field = (name: string, label: string, hint: string, required = true) => (
    <TextField id={name} {...{ name, label, hint, required }} value={form.get(name) ?? ''} autocomplete="off" />
  );
  return (
    <Section id="create" title="Create a gift code">
      <Form action={STAFF_PATH}>
        <RequestKey />
        {field('credits', 'Credits', 'Of one redemption, such as 100.')}
        {field('uses', 'Uses', 'Number of accounts that may redeem it, once each.')}
        {field('expires_at', 'Expires', 'A date in UTC, such as 2027-06-30. Empty for never.', false)}
        {field('note', 'Note', 'For staff and the audit log. Customers do not see it.')}
        <button type="submit" class="main">
          Create
        </button>
      </Form>
    </Section>
  );
}

const permission = 'adjustCredits';
const toBilling = redirectTo(BILLING_PATH);

export const GIFT_CODE_PAGES: readonly HttpRoute[] = [
  ['POST', '/account/gift-codes/redeem/', 'page', 'session', 'payment', 'form', redeemCode, { needs: 'manageBilling' }],
  ['GET', '/account/gift-codes/redeem/', 'page', 'session', 'account', 'none', toBilling, { needs: 'manageBilling' }],
  ['GET', STAFF_PATH, 'page', 'session', 'account', 'none', renderGiftCodes, { permission }],
  ['POST', STAFF_PATH, 'page', 'session', 'account', 'form', createCode, { permission }],
  ...actionRoutes(`${STAFF_PATH}:uuid/revoke/`, revokeCode, { permission }),
];

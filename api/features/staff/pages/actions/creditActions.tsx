import type { VNode } from 'preact';
import { getAccount } from '../../../../../shared/domain/accounts/accounts.ts';
import { getTotalCents } from '../../../../../shared/domain/billing/topupAmounts.ts';
import { readTopupRemainder } from '../../../../../shared/domain/billing/topups.ts';
import {
  closeRejectedRefund,
  findRefund,
  findTopup,
  requestTopupRefund,
} from '../../../../../shared/domain/billing/owedRefunds.ts';
import {
  ADJUSTMENT_MAX_CREDITS,
  assertNotErased,
  assertRemovable,
  needsApproval,
  postCreditAdjustment,
} from '../../../../../shared/domain/adjustments/creditAdjustments.ts';
import {
  decideApproval,
  describeClosedApproval,
  findApproval,
  type ListedApproval,
  requestApproval,
} from '../../../../../shared/domain/staff/approvals.ts';
import { findAccountForStaff } from '../../../../../shared/domain/staff/accountOverview.ts';
import { config } from '../../../../../shared/lib/config.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import { TextField } from '../../../../web/components/fields.tsx';
import { formatChange, formatNumber, formatUsd } from '../../../../web/components/formatAmount.ts';
import { Facts } from '../../../../web/components/section.tsx';
import { getAccountPath, UNCHANGED } from './accountActions.tsx';
import { defineAction } from './defineAction.tsx';

const NOTE_MAX_CHARACTERS = 120;

export const adjustCredits = defineAction({
  find: findAccountForStaff,
  describe: (account) => ({
    question: `Adjust the credits of ${account.email}`,
    consequences: (
      <p>
        The balance is {formatNumber(account.balance)} credits, of which {formatNumber(account.topup_credits)} are
        top-up credits. Credits are added to the top-up credits, which do not expire, and can be removed from them only.
        {describeApprovalRule()}
      </p>
    ),
    button: 'Continue',
    isHarmless: true,
    returnPath: getAccountPath(account),
  }),
  renderFields: (form) => <AdjustmentFields form={form} />,
  preview: (account, form) => {
    const [credits, note] = [parseCredits(form), parseNote(form)];
    assertNotErased(account);
    assertRemovable(credits, account.topup_credits);
    const [verb, direction] = credits > 0 ? ['Add', 'to'] : ['Remove', 'from'];
    const amount = `${formatNumber(Math.abs(credits))} credits`;
    return {
      question: `${verb} ${amount} ${direction} ${account.email}?`,
      consequences: (
        <>
          <Facts
            facts={[
              ['Balance', `${formatNumber(account.balance)} → ${formatNumber(account.balance + credits)}`],
              [
                'Top-up credits',
                `${formatNumber(account.topup_credits)} → ${formatNumber(account.topup_credits + credits)}`,
              ],
              ['Note', note === '' ? 'none' : note],
            ]}
          />
          {needsApproval(credits) ? <p>Another member of staff must approve it before it is posted.</p> : null}
        </>
      ),
      button: needsApproval(credits) ? 'Request approval' : `${verb} ${amount}`,
      isHarmless: credits > 0,
    };
  },
  perform: async ({ id: accountId }, { actor, request, form }) => {
    const adjustment = { accountId, credits: parseCredits(form), note: parseNote(form), requestName: request };
    if (needsApproval(adjustment.credits))
      return (await requestApproval(adjustment, actor)) ? 'approval-requested' : UNCHANGED;
    const { isRepeat } = await postCreditAdjustment(adjustment, actor);
    return isRepeat ? UNCHANGED : 'adjusted';
  },
});

function describeApprovalRule(): string {
  const { STAFF_APPROVAL_CREDITS: limit } = config;
  if (limit === undefined) return '';
  const amount = `From ${formatNumber(limit)} credits on, added or removed`;
  return ` ${amount}, the adjustment is only requested: another member must approve it.`;
}

function AdjustmentFields({ form }: { form: URLSearchParams }): VNode {
  return (
    <>
      <TextField
        id="credits"
        name="credits"
        label="Credits"
        hint="Such as 50, or -50 to remove credits."
        value={form.get('credits') ?? ''}
        required
        autocomplete="off"
      />
      <TextField
        id="note"
        name="note"
        label="Note"
        hint="Optional. The customer sees it in the ledger."
        value={form.get('note') ?? ''}
        maxLength={NOTE_MAX_CHARACTERS}
        autocomplete="off"
      />
    </>
  );
}

function parseCredits(form: URLSearchParams): number {
  const text = (form.get('credits') ?? '').trim().replace(/^[\u2212\u2013]/, '-');
  const credits = /^[+-]?\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (credits !== 0 && Math.abs(credits) <= ADJUSTMENT_MAX_CREDITS) return credits;
  throw new ServiceError(
    'validation_error',
    `Credits must be a whole number from -${ADJUSTMENT_MAX_CREDITS} to ${ADJUSTMENT_MAX_CREDITS}, and not 0.`,
  );
}

function parseNote(form: URLSearchParams): string {
  const note = (form.get('note') ?? '').trim();
  if (note.length <= NOTE_MAX_CHARACTERS && !/[\p{Cc}\p{Cs}]/u.test(note)) return note;
  throw new ServiceError('validation_error', `The note must be one line of at most ${NOTE_MAX_CHARACTERS} characters.`);
}

const describeDecision = ({ approval, account, requester }: ListedApproval) => ({
  consequences: (
    <p>
      {requester.email} requested it with the reason “{approval.reason}”.{' '}
      {approval.note === '' ? 'The customer sees no note.' : `The customer sees the note “${approval.note}”.`} The
      balance is {formatNumber(account.balance)} credits.
    </p>
  ),
  closed: describeClosedApproval(approval),
  returnPath: getAccountPath(account),
});

export const approveAdjustment = defineAction({
  find: findApproval,
  describe: (listed) => ({
    ...describeDecision(listed),
    question: `Approve ${formatChange(listed.approval.credits)} credits for ${listed.account.email}?`,
    button: 'Approve adjustment',
    isHarmless: listed.approval.credits > 0,
  }),
  perform: async ({ approval }, { actor }) =>
    (await decideApproval(approval.uuid, 'approved', actor)) ? 'adjusted' : UNCHANGED,
});

export const rejectAdjustment = defineAction({
  find: findApproval,
  describe: (listed) => ({
    ...describeDecision(listed),
    question: `Reject ${formatChange(listed.approval.credits)} credits for ${listed.account.email}?`,
    button: 'Reject adjustment',
    isHarmless: true,
  }),
  perform: async ({ approval }, { actor }) =>
    (await decideApproval(approval.uuid, 'rejected', actor)) ? 'adjustment-rejected' : UNCHANGED,
});

export const refundTopup = defineAction({
  find: async (uuid) => {
    const topup = await findTopup(uuid);
    return { topup, remainder: await readTopupRemainder(topup), account: await getAccount(topup.account_id) };
  },
  describe: ({ topup, remainder, account }) => ({
    question: `Refund the top-up of ${formatUsd(getTotalCents(topup))} of ${account.email}?`,
    consequences: (
      <p>
        {topup.reversed_cents === 0 ? 'All' : 'What is left'} of the payment of {formatUsd(getTotalCents(topup))} is
        paid back through the payment processor within minutes. Of its {formatNumber(topup.credits)} credits,{' '}
        {formatNumber(remainder)} are left and then taken back; other credits of the account are not. This cannot be
        undone.
      </p>
    ),
    button: 'Refund top-up',
    returnPath: getAccountPath(account),
  }),
  perform: async ({ topup }, { actor }) => ((await requestTopupRefund(topup.uuid, actor)) ? 'topup-refund' : UNCHANGED),
});

export const closeRefund = defineAction({
  parameter: 'key',
  find: async (key) => {
    const refund = await findRefund(/^[\w-]{1,100}$/.test(key) ? key : '');
    return { refund, account: await getAccount(refund.account_id) };
  },
  describe: ({ refund, account }) => ({
    question: `Close the rejected refund of ${refund.payment} of ${account.email}?`,
    consequences: (
      <>
        <p>{refund.last_error}</p>
        <p>
          Pay the customer back in another way first, or decide that nothing is owed, and say so in the reason. Nothing
          is paid by this, and no credits are changed. The refund is then not listed as a problem any more.
        </p>
      </>
    ),
    button: 'Close refund',
    closed: refund.status === 'rejected' ? undefined : 'Only a rejected refund can be closed.',
    returnPath: getAccountPath(account),
  }),
  perform: async ({ refund }, { actor }) => ((await closeRejectedRefund(refund, actor)) ? 'refund-closed' : UNCHANGED),
});

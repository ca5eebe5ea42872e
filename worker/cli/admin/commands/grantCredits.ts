import {
  findCreditAdjustment,
  ADJUSTMENT_MAX_CREDITS,
  assertNotErased,
  needsApproval,
  postCreditAdjustment,
} from '../../../../shared/domain/adjustments/creditAdjustments.ts';
import { lookUpAccountForStaff } from '../../../../shared/domain/staff/accountLookup.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { type CommandContext, UsageError, parseIntegerOption } from '../command.ts';
import { getSystemActor } from '../systemActor.ts';

const REQUEST_PATTERN = /^[\w.#-]{1,100}$/;
const NOTE_PATTERN = /^[^\p{Cc}\p{Cs}]{0,120}$/u;

export async function grantCredits({
  args: [query = '', amount],
  options,
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  const credits = parseIntegerOption(amount, 'The number of credits', 1, ADJUSTMENT_MAX_CREDITS);
  const { request, note = '' } = options;
  if (typeof request !== 'string' || !REQUEST_PATTERN.test(request)) {
    throw new UsageError('--request must have 1 to 100 characters: letters, digits, and . _ - #.');
  }
  if (typeof note !== 'string' || !NOTE_PATTERN.test(note))
    throw new UsageError('--note must be one line of at most 120 characters.');
  const account = await lookUpAccountForStaff(query);
  const adjustment = { accountId: account.id, credits, requestName: request, note: note.trim() };
  const before = await findCreditAdjustment(adjustment);
  if (before === null && needsApproval(credits)) {
    const detail = `${credits} credits need a second member of staff. Request them in the staff console at /admin/accounts/${account.uuid}/adjust/.`;
    throw new ServiceError('admin_required', detail);
  }
  if (!shouldApply) {
    if (before === null) {
      assertNotErased(account);
      print(`${account.email} would receive ${credits} credits: ${account.balance} -> ${account.balance + credits}.`);
    } else print(`${account.email} already received ${credits} credits for request ${request}. Nothing would change.`);
    return;
  }
  const given = await postCreditAdjustment(adjustment, getSystemActor(adjustment.note));
  const { balance_after: balance, uuid, description } = given.entry;
  if (given.isRepeat)
    print(`${account.email} already received ${credits} credits for request ${request}. Nothing was changed.`);
  else
    print(
      `${account.email} received ${credits} credits: ${balance - credits} -> ${balance}. Ledger entry ${uuid}, "${description}".`,
    );
}

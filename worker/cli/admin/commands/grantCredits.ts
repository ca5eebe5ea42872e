import {
  findCreditAdjustment,
  ADJUSTMENT_MAX_CREDITS,
  postCreditAdjustment,
} from '../../../../shared/domain/credits/creditAdjustments.ts';
import { lookUpAccountForStaff } from '../../../../shared/domain/accounts/adminLookup.ts';
import { type CommandContext, UsageError, parseIntegerOption } from '../command.ts';

const REQUEST_PATTERN = /^[\w.#-]{1,100}$/;
const NOTE_PATTERN = /^[^\p{Cc}\p{Cs}]{0,120}$/u;

export async function grantCredits({
  args: [named = '', amount],
  options,
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  const credits = parseIntegerOption(amount, 'The number of credits', 1, ADJUSTMENT_MAX_CREDITS);
  const { request, note = '' } = options;
  if (typeof request !== 'string' || !REQUEST_PATTERN.test(request)) {
    throw new UsageError('--request must name this grant with 1 to 100 letters, digits, and . _ - #.');
  }
  if (typeof note !== 'string' || !NOTE_PATTERN.test(note))
    throw new UsageError('--note must be one line of at most 120 characters.');
  const account = await lookUpAccountForStaff(named);
  const adjustment = { accountId: account.id, credits, requestName: request, note: note.trim() };
  if (!shouldApply) {
    const before = await findCreditAdjustment(adjustment);
    if (before === null) {
      print(`${account.email} would get ${credits} credits: ${account.balance} -> ${account.balance + credits}.`);
    } else
      print(`${account.email} got these ${credits} credits before, by the request ${request}: nothing would change.`);
    return;
  }
  const given = await postCreditAdjustment(adjustment);
  const { balance_after: balance, uuid, description } = given.entry;
  if (given.isRepeat)
    print(`${account.email} got these ${credits} credits before, by the request ${request}: nothing was changed.`);
  else
    print(
      `${account.email} got ${credits} credits: ${balance - credits} -> ${balance}. Ledger entry ${uuid}, "${description}".`,
    );
}

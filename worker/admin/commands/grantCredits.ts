import { goodwillOf, GOODWILL_MAX_CREDITS, grantGoodwill } from '../../../shared/domain/goodwill.ts';
import { lookUpAccount } from '../../../shared/domain/lookUp.ts';
import { type Call, UsageError, wholeNumber } from '../command.ts';

const REQUEST = /^[\w.#-]{1,100}$/;
const NOTE = /^[^\p{Cc}\p{Cs}]{0,120}$/u;

export async function grantCredits({ names: [named = '', amount], options, isForReal, say }: Call): Promise<void> {
  const credits = wholeNumber(amount, 'The number of credits', 1, GOODWILL_MAX_CREDITS);
  const { request, note = '' } = options;
  if (typeof request !== 'string' || !REQUEST.test(request)) {
    throw new UsageError('--request must name this grant with 1 to 100 letters, digits, and . _ - #.');
  }
  if (typeof note !== 'string' || !NOTE.test(note))
    throw new UsageError('--note must be one line of at most 120 characters.');
  const account = await lookUpAccount(named);
  const goodwill = { accountId: account.id, credits, request, note: note.trim() };
  if (!isForReal) {
    const before = await goodwillOf(goodwill);
    if (before === null) {
      say(`${account.email} would get ${credits} credits: ${account.balance} -> ${account.balance + credits}.`);
    } else
      say(`${account.email} got these ${credits} credits before, by the request ${request}: nothing would change.`);
    return;
  }
  const given = await grantGoodwill(goodwill);
  const { balance_after: balance, uuid, description } = given.entry;
  if (given.isRepeat)
    say(`${account.email} got these ${credits} credits before, by the request ${request}: nothing was changed.`);
  else
    say(
      `${account.email} got ${credits} credits: ${balance - credits} -> ${balance}. Ledger entry ${uuid}, "${description}".`,
    );
}

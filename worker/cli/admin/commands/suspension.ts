import { lookUpAccountForStaff } from '../../../../shared/domain/accounts/adminLookup.ts';
import { reinstateAccount, suspendAccount } from '../../../../shared/domain/staff/suspension.ts';
import { type CommandContext, getCommandActor, parseReason } from '../command.ts';

/** Suspends an account. */
export async function suspend({ args: [query = ''], options, shouldApply, print }: CommandContext): Promise<void> {
  const reason = parseReason(options['reason']);
  const account = await lookUpAccountForStaff(query);
  if (account.suspended_at !== null) {
    print(`${account.email} is suspended since ${account.suspended_at.toISOString()}. Nothing to change.`);
  } else if (shouldApply) {
    await suspendAccount(account.id, reason, getCommandActor());
    print(`${account.email} is suspended.`);
  } else {
    print(`${account.email} would be suspended, with ${account.in_flight} generations in progress, which finish.`);
  }
}

/** Reinstates a suspended account. */
export async function reinstate({ args: [query = ''], options, shouldApply, print }: CommandContext): Promise<void> {
  const reason = parseReason(options['reason']);
  const account = await lookUpAccountForStaff(query);
  if (account.suspended_at === null) {
    print(`${account.email} is not suspended. Nothing to change.`);
  } else if (shouldApply) {
    await reinstateAccount(account.id, reason, getCommandActor());
    print(`${account.email} is reinstated.`);
  } else {
    print(`${account.email}, suspended since ${account.suspended_at.toISOString()}, would be reinstated.`);
  }
}

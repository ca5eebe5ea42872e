import { lookUpAccountForStaff } from '../../../../shared/domain/staff/accountLookup.ts';
import { reinstateAccount, suspendAccount } from '../../../../shared/domain/staff/suspension.ts';
import { type CommandContext, formatTime } from '../command.ts';
import { getSystemActor, parseRequiredReason } from '../systemActor.ts';

/** Suspends an account. */
export async function suspend({ args: [query = ''], options, shouldApply, print }: CommandContext): Promise<void> {
  const reason = parseRequiredReason(options);
  const { id, email, in_flight: inFlight, suspended_at: since } = await lookUpAccountForStaff(query);
  if (shouldApply) {
    const { isChanged } = await suspendAccount(id, getSystemActor(reason));
    print(isChanged ? `${email} is suspended.` : `${email} was already suspended. Nothing was changed.`);
  } else if (since === null) {
    print(`${email} would be suspended, with ${inFlight} generations in progress, which finish.`);
  } else print(`${email} is suspended since ${formatTime(since)}. Nothing would change.`);
}

/** Reinstates a suspended account. */
export async function reinstate({ args: [query = ''], options, shouldApply, print }: CommandContext): Promise<void> {
  const reason = parseRequiredReason(options);
  const { id, email, suspended_at: since } = await lookUpAccountForStaff(query);
  if (shouldApply) {
    const { isChanged } = await reinstateAccount(id, getSystemActor(reason));
    print(isChanged ? `${email} is reinstated.` : `${email} was not suspended. Nothing was changed.`);
  } else if (since === null) print(`${email} is not suspended. Nothing would change.`);
  else print(`${email}, suspended since ${formatTime(since)}, would be reinstated.`);
}

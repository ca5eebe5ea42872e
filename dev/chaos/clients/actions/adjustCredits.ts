import { newStepId, sleepUnlessStopped, type Step } from '../clientState.ts';

const MAX_CREDITS = 500;
const MAX_ATTEMPTS = 5;

/**
 * Grants credits as staff do, through the admin command. A command whose outcome is unknown is repeated with the same
 * request name, and now and then one that succeeded: the credits must be in the ledger once.
 */
export async function adjustCredits(step: Step): Promise<void> {
  const { customer, state, random } = step;
  const request = newStepId(step);
  const credits = random.nextBetween(1, MAX_CREDITS);
  const adjustment = { accountUuid: customer.uuid as string, request, credits, isConfirmed: false };
  state.store.adjustments.push(adjustment);
  const command = ['grant-credits', customer.email, String(credits), '--request', request, '--apply'];
  for (let attempt = 0; attempt < MAX_ATTEMPTS && !adjustment.isConfirmed; attempt += 1) {
    if (attempt > 0) await sleepUnlessStopped(state, random.nextBetween(200, 1_000));
    adjustment.isConfirmed = await state.runAdmin(command);
  }
  if (random.chance(0.3)) await Promise.all([state.runAdmin(command), state.runAdmin(command)]);
}

import { refundGeneration } from '../../../../shared/domain/staff/generationActions.ts';
import { findGenerationForStaff } from '../../../../shared/domain/staff/generations.ts';
import { isUuid } from '../../../../shared/lib/uuid.ts';
import { type CommandContext, UsageError } from '../command.ts';
import { getSystemActor, parseRequiredReason } from '../systemActor.ts';

/** Refunds a generation that succeeded. */
export async function refundGenerationByCommand({
  args: [uuid = ''],
  options,
  shouldApply,
  print,
}: CommandContext): Promise<void> {
  if (!isUuid(uuid)) throw new UsageError('The generation must be a UUID.');
  const reason = parseRequiredReason(options);
  const { credits_charged: credits, status, refunded_at: refundedAt } = await findGenerationForStaff(uuid);
  if (shouldApply) {
    const isChanged = await refundGeneration(uuid, getSystemActor(reason));
    print(isChanged ? `Refunded ${credits} credits.` : 'This generation was refunded before. Nothing was changed.');
  } else if (refundedAt !== null) print('This generation was refunded before. Nothing would change.');
  else if (status === 'succeeded') print(`Would refund ${credits} credits.`);
  else print(`This generation is ${status}: it cannot be refunded. Nothing would change.`);
}

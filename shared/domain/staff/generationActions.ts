import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { STUCK_AFTER_SECONDS } from '../../spec/staff.ts';
import { Generation } from '../../tables/Generation.ts';
import { assertNotErased } from '../adjustments/creditAdjustments.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { requeueGenerations } from './stuckGenerations.ts';
import { refundSucceededGeneration } from '../generations/refundSucceeded.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { findGenerationForStaff } from './generations.ts';

/**
 * Refunds a generation that succeeded, such as one with an unusable output. A failed one was refunded when it ended.
 * @returns false if staff refunded it before: nothing was changed or recorded.
 * @throws ServiceError validation_error unless it has succeeded, for one in test mode, and for an erased account.
 */
export async function refundGeneration(uuid: string, actor: Actor): Promise<boolean> {
  const { account_id: accountId, is_test: isTest } = await findGenerationForStaff(uuid);
  if (isTest) throw new ServiceError('validation_error', 'This is a generation in test mode: it cost nothing.');
  const isChanged = await withAccountLock(accountId, async (transaction, account) => {
    assertNotErased(account);
    const { balance } = account;
    const refund = await refundSucceededGeneration(transaction, accountId, uuid);
    if (refund === undefined) return false;
    await recordAuditEntry(transaction, actor, {
      action: 'generation.refund',
      accountId,
      targetId: uuid,
      before: { refunded: false, balance },
      after: { refunded: true, ...refund },
    });
    return true;
  });
  if (isChanged) {
    logger.info({ generationId: uuid, accountId }, 'generation refunded by staff');
    return true;
  }
  const { status } = await findGenerationForStaff(uuid);
  if (status === 'succeeded') return false;
  throw new ServiceError(
    'validation_error',
    status === 'failed'
      ? 'This generation failed, and was refunded when it ended.'
      : 'This generation is in progress. It is refunded automatically if it fails.',
  );
}

/**
 * Makes a stuck generation due now and enqueues it.
 * @throws ServiceError validation_error if it is not stuck.
 */
export async function requeueGeneration(uuid: string, actor: Actor): Promise<void> {
  await findGenerationForStaff(uuid);
  const requeued = await requeueGenerations([uuid], 1_000 * STUCK_AFTER_SECONDS, actor);
  if (requeued.length > 0) return;
  throw new ServiceError(
    'validation_error',
    `This generation is not stuck. It has ended, or a worker has processed it in the last ${STUCK_AFTER_SECONDS} seconds.`,
  );
}

/** Prompt and output of a customer, shown to staff for a recorded reason only. */
export type GenerationContent = Pick<
  Generation,
  'uuid' | 'model' | 'prompt' | 'params' | 'output_path' | 'thumbnail_path' | 'error_message'
>;

/**
 * Records that staff view the prompt and the output of a generation, and returns them once the record is committed.
 * @throws ServiceError not_found if the customer has deleted it.
 */
export async function viewGenerationContent(uuid: string, actor: Actor): Promise<GenerationContent> {
  return Generation.transaction(async (transaction) => {
    const content = await Generation.query(transaction)
      .where({ uuid })
      .whereNull('deleted_at')
      .select('uuid', 'account_id', 'model', 'prompt', 'params', 'output_path', 'thumbnail_path', 'error_message')
      .first();
    if (content === undefined)
      throw new ServiceError('not_found', 'Not found. The generation does not exist, or its owner has deleted it.');
    await recordAuditEntry(transaction, actor, {
      action: 'generation.view_content',
      accountId: content.account_id,
      targetId: uuid,
    });
    await ensureModelsKnown([content.model]);
    return content;
  });
}

import { addMilliseconds, now } from '../../lib/clock.ts';
import { hasImageModels } from '../../lib/catalog/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { UPLOAD_ADDRESS_MS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Upload } from '../../tables/Upload.ts';
import { buildSubscriptionRequiredError, getActivePlan } from '../credits/entitlement.ts';
import { withAccountSlot } from './accountSlots.ts';
import { prepareUpload, toUnavailableError } from './prepareUpload.ts';
import { buildUploadTarget, type UploadTarget } from './uploadAddresses.ts';
import { addUpload } from './uploads.ts';

/** A new upload, with the request that sends its file. */
export interface CreatedUpload {
  upload: Upload;
  target: UploadTarget;
  /** End of the time in which the file can be sent. */
  expiresAt: Date;
}

/**
 * Creates an upload, whose file the client then sends to the returned address.
 * @throws ServiceError not_found if no model takes images; subscription_required, because it could not be used;
 *   rate_limited.
 */
export async function createUpload(
  accountId: number,
  { contentType, bytes }: { contentType: string; bytes: number },
): Promise<CreatedUpload> {
  requireImageModels();
  await requireUploadPlan(accountId);
  const upload = await addUpload({ accountId, source: 'upload', contentType: toRegisteredType(contentType), bytes });
  const expiresAt = addMilliseconds(now(), UPLOAD_ADDRESS_MS);
  return { upload, target: await buildUploadTarget(upload, expiresAt), expiresAt };
}

/** Returns the registered name of a type. */
export function toRegisteredType(contentType: string): string {
  return contentType === 'image/jpg' ? 'image/jpeg' : contentType;
}

/**
 * Rejects accounts that cannot use an image. A test account needs no plan.
 * @throws ServiceError subscription_required
 */
export async function requireUploadPlan(accountId: number): Promise<void> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  const isTest = account.live_account_id !== null && account.deletion_requested_at === null;
  if (!isTest && getActivePlan(account) === null)
    throw buildSubscriptionRequiredError(
      account,
      'Uploading images requires an active subscription. Choose a plan, then try again.',
    );
}

/**
 * Reads an upload. If its file has arrived, it is decoded first.
 * @throws ServiceError not_found if it does not exist, has expired, or belongs to another account; internal_error (503)
 *   if the storage or the decoder is unavailable.
 */
export async function readUpload(accountId: number, uuid: string): Promise<Upload> {
  requireImageModels();
  const upload = await Upload.query().findOne({ uuid, account_id: accountId });
  if (upload === undefined)
    throw new ServiceError('not_found', 'Not found. This account has no upload with that UUID, or it has expired.');
  if (upload.status !== 'pending') return upload;
  return withAccountSlot(accountId, () => prepareUpload(upload)).catch((error: unknown) => {
    throw toUnavailableError(error);
  });
}

/** @throws ServiceError not_found */
export function requireImageModels(): void {
  if (hasImageModels()) return;
  throw new ServiceError('not_found', 'Not found. No model of this service takes images.');
}

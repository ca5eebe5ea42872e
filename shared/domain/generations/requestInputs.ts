import { getModelBySlug } from '../../lib/catalog/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { GenerationParams } from '../../spec/catalog.ts';
import { Generation } from '../../tables/Generation.ts';
import type { Caller } from '../accounts/accounts.ts';
import { findApiKeyOwner } from '../accounts/apiKeys.ts';
import { type GenerationInput, parseInputs, prepareInputs } from '../uploads/prepareInputs.ts';
import type { CreateInput } from './debit.ts';

/** Images of a create request, decoded and stored. */
interface RequestInputs {
  /** Parameters as responses show them. */
  params: GenerationParams;
  inputs: readonly GenerationInput[];
  /** True if an earlier request has used the idempotency key: nothing was prepared. */
  isReplay: boolean;
}

/**
 * Prepares the images of a create request, before its charge. Takes no time for a request without images. Fetches
 * nothing for a caller whose key is not valid, and nothing for a request that repeats an earlier one.
 * @throws ServiceError validation_error that names the parameter; invalid_api_key or account_suspended; internal_error
 *   (503) if the storage or the decoder is unavailable.
 */
export async function prepareRequestInputs(
  caller: Caller,
  { model, params }: CreateInput,
  idempotencyKey: string | null,
): Promise<RequestInputs> {
  const declarations = getModelBySlug(model).inputs;
  const names = Object.keys(declarations);
  if (!names.some((name) => params[name] !== undefined)) return { params, inputs: [], isReplay: false };
  const parsed = parseInputs(caller.accountId, declarations, params);
  if (caller.keyHash !== null && (await findApiKeyOwner(caller.keyHash)) !== caller.accountId)
    throw new ServiceError('invalid_api_key', 'The API key is unknown or revoked.');
  if (await isKeyUsed(caller.accountId, idempotencyKey)) return { params: parsed.params, inputs: [], isReplay: true };
  const prepared = await prepareInputs(caller.accountId, parsed.inputs);
  const inputs = prepared.map(({ role, position, upload_uuid }) => ({ role, position, upload_uuid }));
  return { params: parsed.params, inputs, isReplay: false };
}

async function isKeyUsed(accountId: number, idempotencyKey: string | null): Promise<boolean> {
  if (idempotencyKey === null) return false;
  const key = { account_id: accountId, idempotency_key: idempotencyKey };
  return (await Generation.query().findOne(key).select('uuid')) !== undefined;
}

import type { Transaction } from 'objection';
import { ServiceError } from '../../spec/errors.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';

/** Selects the endpoints that the owner of an account manages. The default endpoint is not one of them. */
export function queryManagedEndpoints(accountId: number, transaction?: Transaction) {
  return WebhookEndpoint.query(transaction).where({ account_id: accountId }).whereNotNull('url');
}

/** Finds an endpoint of an account, which may be the default one. @throws ServiceError not_found */
export async function findEndpoint(accountId: number, uuid: string): Promise<WebhookEndpoint> {
  const endpoint = await WebhookEndpoint.query().findOne({ account_id: accountId, uuid });
  if (endpoint === undefined) throw endpointNotFoundError();
  return endpoint;
}

export function endpointNotFoundError(): ServiceError {
  return new ServiceError('not_found', 'Not found. This account has no webhook endpoint with that UUID.');
}

/** @throws ServiceError validation_error */
export function assertEnabled({ disabled_at }: WebhookEndpoint): void {
  if (disabled_at === null) return;
  throw new ServiceError('validation_error', 'The webhook endpoint is disabled. Enable it first.');
}

import { findFailingEndpoint as findEndpoint } from '../../../../shared/domain/webhooks/endpoints.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { formatDateTime } from '../../../web/components/formatTime.ts';
import type { AreaNotice } from '../../../web/navigation.ts';
import { getEndpointName } from './describeEndpoint.tsx';
import { buildEndpointPath } from './paths.ts';

/** Finds the webhook endpoint that has failed longest. */
export async function findFailingEndpoint(account: Account): Promise<AreaNotice | null> {
  const endpoint = account.webhook_count === 0 ? undefined : await findEndpoint(account.id);
  if (endpoint?.failing_since == null) return null;
  return {
    kind: 'warn',
    text: `Deliveries to the webhook endpoint ${getEndpointName(endpoint)} have failed since ${formatDateTime(endpoint.failing_since)} (UTC).`,
    action: { label: 'Show the deliveries', href: buildEndpointPath(endpoint.uuid) },
  };
}

import { findFailingEndpoint as findEndpoint } from '../../../../shared/domain/webhooks/endpoints.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { formatDateTime } from '../../../web/components/formatTime.ts';
import type { AreaNotice } from '../../../web/navigation.ts';
import { getEndpointName } from './describeEndpoint.tsx';
import { buildEndpointPath } from './paths.ts';

/** Finds the webhook endpoint that has failed longest. */
export async function findFailingEndpoint(account: Account): Promise<AreaNotice | null> {
  const endpoint = await findEndpoint(account.id);
  if (endpoint === undefined) return null;
  const { disabled_at: disabledAt, failing_since: failingSince } = endpoint;
  const since = `${formatDateTime(disabledAt ?? failingSince ?? endpoint.updated_at)} (UTC)`;
  const trouble = disabledAt === null ? `has failed since ${since}` : `failed, and was disabled on ${since}`;
  return {
    kind: 'warn',
    text: `The webhook endpoint ${getEndpointName(endpoint)} ${trouble}.`,
    action: { label: 'Show the endpoint', href: buildEndpointPath(endpoint.uuid) },
  };
}

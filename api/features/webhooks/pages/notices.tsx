import { findFailingEndpoint as findEndpoint } from '../../../../shared/domain/webhooks/endpoints.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { Time } from '../../../web/components/time.tsx';
import type { AreaNotice } from '../../../web/navigation.ts';
import { getEndpointName } from './describeEndpoint.tsx';
import { buildEndpointPath } from './paths.ts';
import { t } from './texts.ts';

/** Finds the webhook endpoint that has failed longest. */
export async function findFailingEndpoint(account: Account): Promise<AreaNotice | null> {
  const endpoint = await findEndpoint(account.id);
  if (endpoint === undefined) return null;
  const { disabled_at: disabledAt, failing_since: failingSince } = endpoint;
  const at = disabledAt ?? failingSince ?? endpoint.updated_at;
  const describe = disabledAt === null ? t.failingSince : t.disabledOn;
  return {
    kind: 'warn',
    text: describe({ name: getEndpointName(endpoint), time: () => <Time at={at} /> }),
    action: { label: t.showEndpoint(), href: buildEndpointPath(endpoint.uuid) },
  };
}

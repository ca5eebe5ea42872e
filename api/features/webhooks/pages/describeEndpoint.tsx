import type { VNode } from 'preact';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { formatDateTime } from '../../../web/components/formatTime.ts';
import { truncateText } from '../../generations/pages/generationParts.tsx';

const NAME_CHARACTERS = 60;
/** URLs are cut in lists, so that a page of long ones stays small. */
const LISTED_URL_CHARACTERS = 200;

/** Names an endpoint for its owner: by its description, otherwise by the host of its address. */
export function getEndpointName({ description, url }: WebhookEndpoint): string {
  return truncateText(description === '' ? new URL(url ?? '').host : description, NAME_CHARACTERS);
}

/** Cuts a URL for a list. */
export function shortenUrl(url: string | null): string {
  return truncateText(url ?? '', LISTED_URL_CHARACTERS);
}

export function EndpointTag({ endpoint }: { endpoint: WebhookEndpoint }): VNode {
  if (endpoint.disabled_at !== null) return <span class="tag off">Disabled</span>;
  if (endpoint.failing_since !== null) return <span class="tag warn">Failing</span>;
  return <span class="tag">Enabled</span>;
}

/** Reasons for which an endpoint is disabled, and what to do. */
const DISABLED_REASONS = {
  owner:
    'You disabled this endpoint, or support did when it revoked all access to the account. It receives no events until you enable it.',
  gone: 'Your server responded with 410 (Gone), which disables an endpoint. Correct the address or the server, then enable the endpoint.',
  failing:
    'All deliveries of five days failed. Repair your server, enable the endpoint, and send again what it missed, from the list of deliveries.',
} as const;

/** Describes why an endpoint receives nothing, and what to do. Null if nothing is wrong. */
export function describeProblem({ disabled_at, disabled_reason, failing_since }: WebhookEndpoint): string | null {
  if (disabled_at !== null && disabled_reason !== null)
    return `${DISABLED_REASONS[disabled_reason]} Disabled on ${formatDateTime(disabled_at)} (UTC).`;
  if (failing_since === null) return null;
  return `All attempts since ${formatDateTime(failing_since)} (UTC) have failed. Deliveries are retried one at a time. After five days without a success the endpoint is disabled.`;
}

/** Describes the types of events that an endpoint receives. */
export function describeTypes({ events }: WebhookEndpoint): string {
  return events === null ? 'all events' : events.join(', ');
}

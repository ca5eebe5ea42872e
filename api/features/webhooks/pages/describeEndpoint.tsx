import type { ComponentChildren, VNode } from 'preact';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { Time } from '../../../web/components/time.tsx';
import { truncateText } from '../../../../shared/lib/truncateText.ts';
import { DISABLED_REASONS, ENDPOINT } from './endpointTexts.ts';
import { t } from './texts.ts';

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
  if (endpoint.disabled_at !== null) return <span class="tag off">{ENDPOINT.disabled()}</span>;
  if (endpoint.failing_since !== null) return <span class="tag warn">{ENDPOINT.failing()}</span>;
  return <span class="tag">{ENDPOINT.enabled()}</span>;
}

/** Describes why an endpoint receives nothing, and what to do. Null if nothing is wrong. */
export function describeProblem({ disabled_at, disabled_reason, failing_since }: WebhookEndpoint): ComponentChildren {
  if (disabled_at !== null && disabled_reason !== null)
    return DISABLED_REASONS[disabled_reason]({ time: () => <Time at={disabled_at} /> });
  if (failing_since === null) return null;
  return ENDPOINT.failingSince({ time: () => <Time at={failing_since} /> });
}

/** Describes the types of events that an endpoint receives. */
export function describeTypes({ events }: WebhookEndpoint): string {
  return events === null ? t.allEvents() : events.join(', ');
}

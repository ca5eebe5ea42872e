import type { VNode } from 'preact';
import type { DeliveryFilter, DeliveryStatus, ListedDelivery } from '../../../../shared/domain/webhooks/deliveries.ts';
import type { ListPage } from '../../../../shared/lib/pagination.ts';
import { WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE } from '../../../../shared/spec/events.ts';
import { FILTERED_ITEMS_MAX } from '../../../../shared/spec/limits.ts';
import type { Context } from '../../../context.ts';
import { parsePage } from '../../../pipeline/lists.ts';
import { dropEmptyFields } from '../../../pipeline/requestParameters.ts';
import { describeEmptyList, type FilterChoice, FilterForm } from '../../../web/components/filterForm.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { PageLinks } from '../../../web/components/pageLinks.tsx';
import { Table } from '../../../web/components/table.tsx';
import { Time } from '../../../web/components/time.tsx';
import { t as shared } from '../../../web/texts.ts';
import { buildDeliveryQuery, parseDeliveryFilter } from '../endpoints.ts';
import { Section } from '../../../web/components/section.tsx';
import { shortenUrl } from './describeEndpoint.tsx';
import { describeResult } from './describeResult.ts';
import { buildDeliveryPath } from './paths.ts';
import { DELIVERIES as t, STATUSES } from './deliveryTexts.ts';

const TAG_CLASSES = { pending: 'tag off', retrying: 'tag warn', succeeded: 'tag', failed: 'tag warn' } as const;
const TYPE_CHOICES = Object.fromEntries([...WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE].map((type) => [type, type]));

function listFilters(): FilterChoice[] {
  const statuses: Record<DeliveryStatus, string> = {
    pending: STATUSES.pendingOrRetrying(),
    succeeded: STATUSES.succeeded(),
    failed: STATUSES.failed(),
  };
  return [
    { name: 'type', label: shared.event(), options: TYPE_CHOICES },
    { name: 'status', label: shared.status(), options: statuses },
  ];
}

/** Status of a delivery. One whose last attempt failed is retrying until it ends. */
export function DeliveryTag({ delivery: { status, attempts } }: { delivery: ListedDelivery }): VNode {
  const shown = status === 'pending' && attempts > 0 ? 'retrying' : status;
  return <span class={TAG_CLASSES[shown]}>{STATUSES[shown]()}</span>;
}

export const formatDuration = (milliseconds: number): string => `${formatNumber(milliseconds)} ms`;

/** Part of the list of deliveries that a page shows. */
export interface ShownDeliveries extends DeliveryFilter {
  page: number;
}

/**
 * Parses the parameters of a page with deliveries.
 * @throws ServiceError validation_error
 */
export function parseShownDeliveries(ctx: Context): ShownDeliveries {
  return { page: parsePage(ctx), ...parseDeliveryFilter(dropEmptyFields(ctx.query)) };
}

interface DeliveriesProps {
  list: ListPage<ListedDelivery>;
  filter: DeliveryFilter;
  /** Page that shows them. */
  path: string;
  /** Uuid of the endpoint. */
  endpoint: string;
  /** Shows the address of each delivery. */
  hasAddresses?: boolean;
}

/** Deliveries of an endpoint, newest first, each with a link to its page. */
export function DeliveriesSection({ list, filter, path, endpoint, hasAddresses = false }: DeliveriesProps): VNode {
  const { status, type } = filter;
  const query = buildDeliveryQuery({ status, type });
  const shown = { ...list, totalItems: Math.min(list.totalItems, FILTERED_ITEMS_MAX) };
  return (
    <>
      {list.totalItems === 0 && query === '' ? null : (
        <FilterForm path={path} choices={listFilters()} hasDays={false} parameters={{ status, type }} />
      )}
      <Section id="deliveries" title={t.deliveries()}>
        <Table
          label={t.deliveries()}
          columns={[
            shared.event(),
            ...(hasAddresses ? [t.address()] : []),
            shared.status(),
            t.lastResponse(),
            t.attempts(),
            shared.duration(),
            shared.created(),
          ]}
          numeric={[t.attempts(), shared.duration()]}
          hasRowHeadings
          empty={describeEmptyList(list, query, t.noDeliveries())}
          rows={list.items.map((delivery) => [
            <a href={buildDeliveryPath(endpoint, delivery.uuid)}>{delivery.type}</a>,
            ...(hasAddresses ? [shortenUrl(delivery.url)] : []),
            <DeliveryTag delivery={delivery} />,
            describeResult({ status: delivery.last_status, error: delivery.last_error }),
            formatNumber(delivery.attempts),
            delivery.last_duration_ms === null ? '–' : formatDuration(delivery.last_duration_ms),
            <Time at={delivery.created_at} />,
          ])}
        />
      </Section>
      <PageLinks list={shown} path={path} query={query} />
    </>
  );
}

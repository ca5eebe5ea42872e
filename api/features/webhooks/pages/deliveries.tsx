import type { VNode } from 'preact';
import {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  type ListedDelivery,
  redeliver,
} from '../../../../shared/domain/webhooks/deliveries.ts';
import { isUuid } from '../../../../shared/lib/uuid.ts';
import type { ListPage } from '../../../../shared/lib/pagination.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { FILTERED_ITEMS_MAX } from '../../../../shared/spec/limits.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { parseDeliveryFilter } from '../endpoints.ts';
import { parsePage } from '../../../pipeline/lists.ts';
import { dropEmptyFields } from '../../../pipeline/requestParameters.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { type FilterChoice, FilterForm } from '../../../web/components/filterForm.tsx';
import { Form } from '../../../web/components/form.tsx';
import { formatShortDateTime } from '../../../web/components/formatTime.ts';
import { PageLinks } from '../../../web/components/pageLinks.tsx';
import { shortenUrl } from './describeEndpoint.tsx';
import { describeResult } from './describeResult.ts';

const STATUS_TAGS: Record<DeliveryStatus, readonly [tagClass: string, text: string]> = {
  pending: ['tag off', 'Pending'],
  succeeded: ['tag', 'Succeeded'],
  failed: ['tag warn', 'Failed'],
};
const STATUS_CHOICES = Object.fromEntries(Object.entries(STATUS_TAGS).map(([status, [, text]]) => [status, text]));
const FILTERS: readonly FilterChoice[] = [{ name: 'status', label: 'Status', options: STATUS_CHOICES }];

/** Part of the list of deliveries that a page shows. */
export interface ShownDeliveries {
  page: number;
  status?: DeliveryStatus;
}

/**
 * Parses the parameters of a page with deliveries.
 * @throws ServiceError validation_error
 */
export function parseShownDeliveries(ctx: Context): ShownDeliveries {
  return { page: parsePage(ctx), ...parseDeliveryFilter(dropEmptyFields(ctx.query)) };
}

/**
 * Redelivers the delivery that a form names.
 * @param path page of the endpoint, to which the browser returns with the filter that it had.
 * @throws ServiceError not_found, validation_error
 */
export async function redeliverFromForm(ctx: Context, endpointUuid: string, path: string): Promise<void> {
  const form = getForm(ctx);
  const [delivery, status] = [form.get('delivery') ?? '', form.get('status')];
  if (!isUuid(delivery)) throw new ServiceError('not_found', 'Not found. Reload the page and choose a delivery.');
  await redeliver(requireCaller(ctx).accountId, endpointUuid, delivery.toLowerCase());
  seeOther(
    ctx,
    `${path}?${DELIVERY_STATUSES.some((known) => known === status) ? `status=${status}&` : ''}done=redelivered`,
  );
}

interface DeliveriesProps {
  list: ListPage<ListedDelivery>;
  /** Filter of the list. */
  status: DeliveryStatus | undefined;
  /** Page that shows them, to which their forms are sent. */
  path: string;
  /** False while the endpoint is disabled. */
  canRedeliver: boolean;
  /** Shows the address of each delivery. */
  hasAddresses?: boolean;
  csrfToken: string;
}

/** Deliveries of an endpoint, newest first, with their outcome and a button to repeat each. */
export function DeliveriesSection(props: DeliveriesProps): VNode {
  const { list, status, path } = props;
  const query = status === undefined ? '' : `status=${status}`;
  const shown = { ...list, totalItems: Math.min(list.totalItems, FILTERED_ITEMS_MAX) };
  return (
    <>
      {list.totalItems === 0 && status === undefined ? null : (
        <FilterForm path={path} choices={FILTERS} hasTimes={false} parameters={{ status }} />
      )}
      <section class="card" aria-labelledby="deliveries">
        <h2 id="deliveries">Deliveries</h2>
        {list.items.length === 0 ? (
          <p>{describeEmptyList(list, status)}</p>
        ) : (
          <ul class="rows">
            {list.items.map((delivery) => (
              <DeliveryRow {...props} delivery={delivery} />
            ))}
          </ul>
        )}
      </section>
      <PageLinks list={shown} path={path} query={query} />
    </>
  );
}

function describeEmptyList({ totalItems }: ListPage<unknown>, status: DeliveryStatus | undefined): string {
  if (totalItems > 0) return 'This page is empty.';
  if (status !== undefined) return `No ${status} deliveries.`;
  return 'No deliveries yet. Events appear here as soon as they occur, and stay for 30 days.';
}

type DeliveryRowProps = DeliveriesProps & { delivery: ListedDelivery };

function DeliveryRow(props: DeliveryRowProps): VNode {
  const { delivery, canRedeliver, hasAddresses = false } = props;
  const { type, status, attempts, url } = delivery;
  const [tagClass, text] = STATUS_TAGS[status];
  return (
    <li>
      <div class="what">
        <h3>
          {type} <span class={tagClass}>{text}</span>
        </h3>
        <span class="quiet small">
          {formatShortDateTime(delivery.created_at)} (UTC), {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
          {delivery.next_attempt_at === null ? null : (
            <>
              <br />
              Next attempt: {formatShortDateTime(delivery.next_attempt_at)} (UTC)
            </>
          )}
          <br />
          msg_{delivery.event_uuid}
          {hasAddresses ? (
            <>
              <br />
              {shortenUrl(url)}
            </>
          ) : null}
        </span>
        <p class="small">{describeResult(delivery)}</p>
      </div>
      {status === 'pending' || !canRedeliver ? null : <RedeliverForm {...props} />}
    </li>
  );
}

function RedeliverForm({ delivery, status, path, csrfToken }: DeliveryRowProps): VNode {
  const label = `Redeliver ${delivery.type} of ${formatShortDateTime(delivery.created_at)}`;
  return (
    <Form action={path} token={csrfToken}>
      <input type="hidden" name="action" value="redeliver" />
      <input type="hidden" name="delivery" value={delivery.uuid} />
      <input type="hidden" name="status" value={status ?? ''} />
      <button type="submit" class="slight" aria-label={label}>
        Redeliver
      </button>
    </Form>
  );
}

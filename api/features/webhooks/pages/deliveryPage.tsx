import type { VNode } from 'preact';
import { type DeliveryDetails, readDelivery, redeliver } from '../../../../shared/domain/webhooks/deliveries.ts';
import { identifyMessage } from '../../../../shared/domain/webhooks/signingKeys.ts';
import type { DeliveryAttempt } from '../../../../shared/tables/WebhookDelivery.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Form } from '../../../web/components/form.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { Time } from '../../../web/components/time.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Facts, Section } from '../../../web/components/section.tsx';
import { DeliveryTag, formatDuration } from './deliveries.tsx';
import { describeResult } from './describeResult.ts';
import { buildDeliveryPath, buildEndpointPath, DEFAULT_ENDPOINT_PATH, WEBHOOKS_PATH } from './paths.ts';
import { DELIVERIES as t } from './deliveryTexts.ts';
import { renderWebhooksPage } from './view.tsx';

const OUTCOMES = {
  sent: t.startedAgain,
} as const satisfies Outcomes;

/** Renders the page of a delivery: what was sent, and how the receiver responded. @throws ServiceError not_found */
async function renderDeliveryPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { endpoint, delivery } = await readDelivery(requireCaller(ctx), ...parsePath(ctx));
  const path = buildDeliveryPath(endpoint.uuid, delivery.uuid);
  const children = (
    <>
      <section class="card stack" aria-labelledby="delivery">
        <h2 id="delivery">
          {t.delivery()} <DeliveryTag delivery={delivery} />
        </h2>
        <DeliveryFacts delivery={delivery} />
        {delivery.status === 'pending' ? null : endpoint.disabled_at === null ? (
          <Form action={path}>
            <button type="submit">{t.sendAgain()}</button>
          </Form>
        ) : (
          <p class="quiet">{t.enableToSend()}</p>
        )}
      </section>
      <Section id="body" title={t.requestBody()}>
        <CopyText id="body-text" text={delivery.body} label={t.theRequestBody()} />
      </Section>
      <Section id="attempts" title={t.attempts()}>
        {delivery.attempt_log.length === 0 ? <p>{t.noAttempts()}</p> : null}
        {delivery.attempt_log.toReversed().map((attempt, index) => (
          <Attempt attempt={attempt} eventUuid={delivery.event_uuid} isOpen={index === 0} />
        ))}
      </Section>
      <p>
        <a href={endpoint.url === null ? DEFAULT_ENDPOINT_PATH : buildEndpointPath(endpoint.uuid)}>{t.back()}</a>
      </p>
    </>
  );
  await sendAccountAreaPage(
    ctx,
    { current: WEBHOOKS_PATH, heading: delivery.type, outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

const parsePath = (ctx: Context) => [parseUuidParam(ctx), parseUuidParam(ctx, 'delivery')] as const;

function DeliveryFacts({ delivery }: { delivery: DeliveryDetails }): VNode {
  return (
    <Facts
      facts={[
        [t.address(), delivery.url],
        [t.attempts(), formatNumber(delivery.attempts)],
        delivery.next_attempt_at === null ? null : [t.nextAttempt(), <Time at={delivery.next_attempt_at} />],
        [shared.created(), <Time at={delivery.created_at} />],
        [t.message(), <code>msg_{delivery.event_uuid}</code>],
      ]}
    />
  );
}

interface AttemptProps {
  attempt: DeliveryAttempt;
  eventUuid: string;
  isOpen: boolean;
}

function Attempt({ attempt, eventUuid, isOpen }: AttemptProps): VNode {
  const sentAt = new Date(attempt.sent_at);
  const { id, timestamp } = identifyMessage(eventUuid, sentAt);
  return (
    <details open={isOpen}>
      <summary>
        {t.attempt({
          time: () => <Time at={sentAt} hasSeconds />,
          result: describeResult(attempt),
          duration: formatDuration(attempt.duration_ms),
        })}
      </summary>
      {attempt.signature === null ? null : (
        <>
          <h3>{t.requestHeaders()}</h3>
          <code class="secret">
            {`content-type: application/json\nwebhook-id: ${id}\nwebhook-timestamp: ${timestamp}\nwebhook-signature: ${attempt.signature}`}
          </code>
        </>
      )}
      {attempt.status === null ? null : (
        <>
          <h3>{t.responseBody()}</h3>
          <ResponseBody attempt={attempt} />
        </>
      )}
    </details>
  );
}

function ResponseBody({
  attempt: { response_body: text, response_is_binary: isBinary },
}: {
  attempt: DeliveryAttempt;
}) {
  if (text === null) return <p class="quiet">{isBinary ? t.notText() : t.empty()}</p>;
  return (
    <>
      <code class="secret">{text}</code>
      <p class="hint">{t.stored()}</p>
    </>
  );
}

const withDeliveryErrors = showErrorsOn(renderDeliveryPage, showErrorsOn(renderWebhooksPage));

export const showDeliveryPage = withDeliveryErrors(renderDeliveryPage);

/** Sends the event of a delivery again. */
export const sendAgain = withDeliveryErrors(async (ctx) => {
  const [endpoint, delivery] = parsePath(ctx);
  await redeliver(requireCaller(ctx), endpoint, delivery);
  seeOther(ctx, `${buildDeliveryPath(endpoint, delivery)}?done=sent`);
});

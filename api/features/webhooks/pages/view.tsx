import type { VNode } from 'preact';
import { hasDefaultEndpoint } from '../../../../shared/domain/webhooks/defaultEndpoint.ts';
import { listEndpoints } from '../../../../shared/domain/webhooks/endpoints.ts';
import { WEBHOOK_ENDPOINTS_MAX } from '../../../../shared/spec/limits.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { Form, RequestKey } from '../../../web/components/form.tsx';
import { t as names } from '../../texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { describeProblem, describeTypes, EndpointTag, getEndpointName, shortenUrl } from './describeEndpoint.tsx';
import { endpointForm } from './endpointForm.tsx';
import { NewSecretNotice } from './keys.tsx';
import { buildEndpointPath, DEFAULT_ENDPOINT_PATH, WEBHOOKS_PATH } from './paths.ts';
import { t } from './texts.ts';

const READING_LINKS = { guide: '/docs/webhooks/', link: '/api/docs/' };

const OUTCOMES = {
  deleted: t.deleted,
} as const satisfies Outcomes;

/** A created endpoint with its secret. */
export interface NewEndpoint {
  uuid: string;
  secret: string;
}

interface WebhooksFlash extends PageProblem {
  created?: NewEndpoint;
}

/** Renders the webhook endpoints of the account, with a form to add one. */
export async function renderWebhooksPage(ctx: Context, flash: WebhooksFlash = {}, status = 200): Promise<void> {
  const { created, ...problem } = flash;
  const { accountId } = requireCaller(ctx);
  const [{ items }, usesDefault] = await Promise.all([listEndpoints(accountId, 1), hasDefaultEndpoint(accountId)]);
  const entered = problem.problem === undefined ? undefined : endpointForm.keep(ctx.state.form);
  const children = (
    <>
      {created === undefined ? null : (
        <NewSecretNotice sentence={t.addedSentence()} secret={created.secret}>
          <p>
            <a href={buildEndpointPath(created.uuid)}>{t.sendFirstTest()}</a>
          </p>
        </NewSecretNotice>
      )}
      <EndpointsSection endpoints={items} />
      <AddSection count={items.length} values={entered ?? endpointForm.write({})} />
      <SingleGenerationsSection isUsed={usesDefault} />
    </>
  );
  // The notice above says it.
  const title = created === undefined ? undefined : t.added();
  await sendAccountAreaPage(
    ctx,
    { current: WEBHOOKS_PATH, heading: names.webhooks(), outcomes: OUTCOMES, ...problem, title, children },
    status,
  );
}

function EndpointsSection({ endpoints }: { endpoints: WebhookEndpoint[] }): VNode {
  return (
    <Section id="endpoints" title={t.endpoints()}>
      <p class="quiet">
        {endpoints.length === 0
          ? t.noEndpoints(READING_LINKS)
          : t.endpointCount({ count: endpoints.length, max: WEBHOOK_ENDPOINTS_MAX, ...READING_LINKS })}
      </p>
      {endpoints.length === 0 ? null : (
        <ul class="rows">
          {endpoints.map((endpoint) => (
            <EndpointRow endpoint={endpoint} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function EndpointRow({ endpoint }: { endpoint: WebhookEndpoint }): VNode {
  const name = getEndpointName(endpoint);
  const problem = describeProblem(endpoint);
  return (
    <li>
      <div class="what">
        <h3>
          {name} <EndpointTag endpoint={endpoint} />
        </h3>
        <span class="quiet small">
          {shortenUrl(endpoint.url)}
          <br />
          {t.receives({ types: describeTypes(endpoint) })}
        </span>
        {problem === null ? null : <p class="small">{problem}</p>}
      </div>
      <a class="button slight" href={buildEndpointPath(endpoint.uuid)} aria-label={t.manageEndpoint({ name })}>
        {t.manage()}
      </a>
    </li>
  );
}

/** Closed until the account uses it. */
function SingleGenerationsSection({ isUsed }: { isUsed: boolean }): VNode {
  return (
    <details class="card" open={isUsed}>
      <summary>{t.singleGenerations()}</summary>
      <p>{t.singleGenerationsLead()}</p>
      <div class="buttons">
        <a class="button" href={DEFAULT_ENDPOINT_PATH}>
          {t.defaultSecretAndDeliveries()}
        </a>
        <a class="button" href={`${DEFAULT_ENDPOINT_PATH}rotate/`}>
          {t.rotateDefault()}
        </a>
      </div>
    </details>
  );
}

interface AddSectionProps {
  count: number;
  /** Texts of the form. */
  values: URLSearchParams;
}

function AddSection({ count, values }: AddSectionProps): VNode {
  return (
    <Section id="add-endpoint" title={t.addEndpointHeading()}>
      {count >= WEBHOOK_ENDPOINTS_MAX ? (
        <p>{t.tooManyEndpoints({ max: WEBHOOK_ENDPOINTS_MAX })}</p>
      ) : (
        <Form action={WEBHOOKS_PATH}>
          <RequestKey />
          <endpointForm.Fields values={values} />
          <button type="submit" class="main">
            {t.addEndpoint()}
          </button>
        </Form>
      )}
    </Section>
  );
}

import type { VNode } from 'preact';
import { listDeliveries } from '../../../../shared/domain/webhooks/deliveries.ts';
import { formatEndpointState, getEndpoint } from '../../../../shared/domain/webhooks/endpoints.ts';
import { presentWebhookEndpoint } from '../../../../shared/presenters/webhookEndpoint.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { findEntered, FormerState } from '../../../web/components/editForm.tsx';
import { Form } from '../../../web/components/form.tsx';
import { Time } from '../../../web/components/time.tsx';
import { t as shared } from '../../../web/texts.ts';
import { t as names } from '../../texts.ts';
import { Facts, Section } from '../../../web/components/section.tsx';
import { ActionForm } from './actionForm.tsx';
import { DeliveriesSection, type ShownDeliveries } from './deliveries.tsx';
import { describeProblem, EndpointTag, getEndpointName } from './describeEndpoint.tsx';
import { endpointForm } from './endpointForm.tsx';
import { NewSecretNotice, PreviousKeysNote, PublicKey } from './keys.tsx';
import { buildEndpointPath, WEBHOOKS_PATH } from './paths.ts';
import { ENDPOINT } from './endpointTexts.ts';
import { t } from './texts.ts';

const OUTCOMES = {
  saved: ENDPOINT.wasSaved,
  enabled: ENDPOINT.wasEnabled,
  disabled: ENDPOINT.wasDisabled,
  tested: ENDPOINT.testSent,
} as const satisfies Outcomes;
export type EndpointOutcome = keyof typeof OUTCOMES;

interface EndpointFlash extends PageProblem {
  deliveries?: ShownDeliveries;
  /** Secret after a rotation. */
  newSecret?: string;
}

/**
 * Renders the page of an endpoint: its state, settings and deliveries.
 * @throws ServiceError not_found
 */
export async function renderEndpointPage(ctx: Context, flash: EndpointFlash = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const { deliveries = { page: 1 }, newSecret, ...problem } = flash;
  const endpoint = await getEndpoint(accountId, parseUuidParam(ctx));
  const list = await listDeliveries(accountId, endpoint.uuid, deliveries.page, deliveries);
  const [path, name] = [buildEndpointPath(endpoint.uuid), getEndpointName(endpoint)];
  const former = formatEndpointState(endpoint);
  const entered = endpointForm.keep(findEntered(ctx, problem, former));
  const children = (
    <>
      {newSecret === undefined ? null : (
        <NewSecretNotice sentence={ENDPOINT.secretRotatedSentence()} secret={newSecret} />
      )}
      <StateSection endpoint={endpoint} />
      <Section id="settings" title={names.settings()}>
        <Form action={path}>
          <input type="hidden" name="action" value="save" />
          <FormerState value={former} />
          <endpointForm.Fields values={entered ?? endpointForm.write(presentWebhookEndpoint(endpoint))} />
          <button type="submit" class="main">
            {shared.save()}
          </button>
        </Form>
      </Section>
      <DeliveriesSection list={list} filter={deliveries} path={path} endpoint={endpoint.uuid} />
      <p>
        <a href={WEBHOOKS_PATH}>{t.back()}</a>
      </p>
    </>
  );
  const title = newSecret === undefined ? undefined : ENDPOINT.secretRotated();
  await sendAccountAreaPage(
    ctx,
    { current: WEBHOOKS_PATH, heading: name, outcomes: OUTCOMES, ...problem, title, children },
    status,
  );
}

function StateSection({ endpoint }: { endpoint: WebhookEndpoint }): VNode {
  const path = buildEndpointPath(endpoint.uuid);
  const problem = describeProblem(endpoint);
  const isEnabled = endpoint.disabled_at === null;
  return (
    <section class="card stack" aria-labelledby="endpoint">
      <h2 id="endpoint">
        {ENDPOINT.endpoint()} <EndpointTag endpoint={endpoint} />
      </h2>
      {problem === null ? null : <p class="note">{problem}</p>}
      <Facts
        facts={[
          ['URL', endpoint.url],
          [shared.created(), <Time at={endpoint.created_at} />],
          ['UUID', <code>{endpoint.uuid}</code>],
        ]}
      />
      <PublicKey text={endpoint.public_key} />
      <PreviousKeysNote endpoint={endpoint} />
      <div class="buttons">
        {isEnabled ? <ActionForm path={path} action="test" label={ENDPOINT.sendTest()} /> : null}
        {isEnabled ? (
          <ActionForm path={path} action="disable" label={ENDPOINT.disable()} />
        ) : (
          <ActionForm path={path} action="enable" label={ENDPOINT.enable()} />
        )}
        <a class="button slight" href={`${path}rotate/`}>
          {ENDPOINT.rotateSecret()}
        </a>
        <a class="button slight danger" href={`${path}delete/`}>
          {shared.delete()}
        </a>
      </div>
    </section>
  );
}

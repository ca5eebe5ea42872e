import type { VNode } from 'preact';
import { randomUUID } from 'node:crypto';
import { hasDefaultEndpoint } from '../../../../shared/domain/webhooks/defaultEndpoint.ts';
import { listEndpoints } from '../../../../shared/domain/webhooks/endpoints.ts';
import { WEBHOOK_ENDPOINTS_MAX } from '../../../../shared/spec/limits.ts';
import type { WebhookEndpoint } from '../../../../shared/tables/WebhookEndpoint.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { createCsrfToken } from '../../../pipeline/csrf.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { Form } from '../../../web/components/form.tsx';
import { describeProblem, describeTypes, EndpointTag, getEndpointName, shortenUrl } from './describeEndpoint.tsx';
import { endpointForm } from './endpointForm.tsx';
import { NewSecretNotice } from './keys.tsx';
import { buildEndpointPath, DEFAULT_ENDPOINT_PATH, WEBHOOKS_PATH } from './paths.ts';

const OUTCOMES = {
  deleted: ['Webhook deleted', 'The endpoint and its deliveries are deleted.'],
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
        <NewSecretNotice sentence="Endpoint added." secret={created.secret}>
          <p>
            <a href={buildEndpointPath(created.uuid)}>Send a test event from its page</a>
          </p>
        </NewSecretNotice>
      )}
      <EndpointsSection endpoints={items} />
      <AddSection count={items.length} values={entered ?? endpointForm.write({})} csrfToken={createCsrfToken(ctx)} />
      <SingleGenerationsSection isUsed={usesDefault} />
    </>
  );
  // The notice above says it.
  const title = created === undefined ? undefined : 'Webhook endpoint added';
  await sendAccountAreaPage(
    ctx,
    { current: WEBHOOKS_PATH, heading: 'Webhooks', outcomes: OUTCOMES, ...problem, title, children },
    status,
  );
}

function EndpointsSection({ endpoints }: { endpoints: WebhookEndpoint[] }): VNode {
  return (
    <section class="card" aria-labelledby="endpoints">
      <h2 id="endpoints">Endpoints</h2>
      <p class="quiet">
        {endpoints.length === 0
          ? 'No endpoints yet. Add the address of your server below, and it receives a signed message when a generation ends or your credits run low. '
          : `Your servers that receive events: ${endpoints.length} of at most ${WEBHOOK_ENDPOINTS_MAX}. `}
        <a href="/api/docs/">API reference</a>
      </p>
      {endpoints.length === 0 ? null : (
        <ul class="rows">
          {endpoints.map((endpoint) => (
            <EndpointRow endpoint={endpoint} />
          ))}
        </ul>
      )}
    </section>
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
          Receives {describeTypes(endpoint)}
        </span>
        {problem === null ? null : <p class="small">{problem}</p>}
      </div>
      <a class="button slight" href={buildEndpointPath(endpoint.uuid)} aria-label={`Manage ${name}`}>
        Manage
      </a>
    </li>
  );
}

/** Closed until the account uses it. */
function SingleGenerationsSection({ isUsed }: { isUsed: boolean }): VNode {
  return (
    <details class="card" open={isUsed}>
      <summary>Events of single generations</summary>
      <p>
        A generation that you create with <code>webhook_url</code> sends its end to that address, without an endpoint.
        These messages are signed with the default secret of your account.
      </p>
      <div class="buttons">
        <a class="button" href={DEFAULT_ENDPOINT_PATH}>
          Default secret and deliveries
        </a>
        <a class="button" href={`${DEFAULT_ENDPOINT_PATH}rotate/`}>
          Rotate default secret
        </a>
      </div>
    </details>
  );
}

interface AddSectionProps {
  count: number;
  /** Texts of the form. */
  values: URLSearchParams;
  csrfToken: string;
}

function AddSection({ count, values, csrfToken }: AddSectionProps): VNode {
  return (
    <section class="card" aria-labelledby="add-endpoint">
      <h2 id="add-endpoint">Add an endpoint</h2>
      {count >= WEBHOOK_ENDPOINTS_MAX ? (
        <p>Your account has {WEBHOOK_ENDPOINTS_MAX} endpoints, the maximum. Delete one to add another.</p>
      ) : (
        <Form action={WEBHOOKS_PATH} token={csrfToken}>
          <input type="hidden" name="request" value={randomUUID()} />
          <endpointForm.Fields values={values} />
          <button type="submit" class="main">
            Add endpoint
          </button>
        </Form>
      )}
    </section>
  );
}

import type { VNode } from 'preact';
import {
  type ListedRoute,
  listUpstreamRoutes,
  showUpstreamRequest,
} from '../../../../../shared/domain/staff/upstreamRoutes.ts';
import { getModelName } from '../../../../../shared/domain/reports/labels.ts';
import { PROMPT_MAX_CHARACTERS } from '../../../../../shared/spec/limits.ts';
import type { Context } from '../../../../context.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { createCsrfToken } from '../../../../pipeline/csrf.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { mayUse, type PageProblem, sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { SelectField, TextField } from '../../../../web/components/fields.tsx';
import { Form } from '../../../../web/components/form.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { Table } from '../../../../web/components/table.tsx';
import { HealthTags } from '../incident/view.tsx';
import { Section } from '../sections.tsx';

const UPSTREAMS_PATH = '/admin/upstreams/';
const REQUEST_PATH = `${UPSTREAMS_PATH}request/`;
const EXAMPLE_PROMPT = 'A lighthouse at dusk';

/** A request as it would be sent. */
interface ShownRequest {
  upstream: string;
  prompt: string;
  lines: string[];
}

interface UpstreamsFlash extends PageProblem {
  shown?: ShownRequest;
}

/** Shows the choices of all models, with a form that shows a request to one. */
export async function showUpstreams(ctx: Context): Promise<void> {
  await renderUpstreams(ctx);
}

/** Shows the request that an upstream would receive, in the response to the form. */
export const showRequest = showErrorsOn((ctx, flash, status) => renderUpstreams(ctx, flash, status))(async (ctx) => {
  const form = getForm(ctx);
  const [upstream, prompt] = [form.get('upstream') ?? '', form.get('prompt') ?? ''];
  await renderUpstreams(ctx, { shown: { upstream, prompt, lines: await showUpstreamRequest(upstream, prompt) } });
});

/** Redirects to the list: people reload the response to its form. */
export function redirectToUpstreams(ctx: Context): void {
  seeOther(ctx, UPSTREAMS_PATH);
}

async function renderUpstreams(ctx: Context, { shown, ...problem }: UpstreamsFlash = {}, status = 200): Promise<void> {
  const routes = await listUpstreamRoutes();
  const children = (
    <>
      <p class="quiet">
        The upstreams of each model, as this process is configured. Workers check them twice a minute.
      </p>
      <Section id="routes" title="Choices of the models">
        <RouteTable routes={routes} />
      </Section>
      {mayUse(ctx, 'manageQueues') ? <RequestForm ctx={ctx} routes={routes} shown={shown} /> : null}
    </>
  );
  await sendStaffConsolePage(ctx, { current: UPSTREAMS_PATH, heading: 'Upstreams', ...problem, children }, status);
}

function RouteTable({ routes }: { routes: readonly ListedRoute[] }): VNode {
  return (
    <Table
      class="report"
      label="Upstreams by model"
      columns={['Model', 'Upstream', 'State', 'Adapter', 'Host', 'Limits']}
      empty="No model has an upstream: set VIDEO_UPSTREAM, IMAGE_UPSTREAM or CATALOG."
      rows={routes.map((route) => [
        <>
          {getModelName(route.model)}
          <div class="quiet small">{route.position === 0 ? 'first choice' : `fallback ${route.position}`}</div>
        </>,
        route.upstream,
        <HealthTags state={route} />,
        route.adapter,
        route.host,
        describeLimits(route),
      ])}
    />
  );
}

function describeLimits({ concurrency, perMinute }: ListedRoute): string {
  const limits = [
    ...(concurrency === null ? [] : [`${formatNumber(concurrency)} at a time`]),
    ...(perMinute === null ? [] : [`${formatNumber(perMinute)} a minute`]),
  ];
  return limits.length === 0 ? 'none' : limits.join(', ');
}

interface RequestFormProps {
  ctx: Context;
  routes: readonly ListedRoute[];
  shown: ShownRequest | undefined;
}

function RequestForm({ ctx, routes, shown }: RequestFormProps): VNode {
  const names = [...new Set(routes.map(({ upstream }) => upstream))];
  return (
    <Section id="request" title="Show a request">
      <p>
        Shows the request that an upstream would receive for an example of its model, with *** in the place of keys.
        Nothing is sent. The command try-upstream sends one.
      </p>
      <Form action={REQUEST_PATH} token={createCsrfToken(ctx)}>
        <SelectField
          id="upstream"
          name="upstream"
          label="Upstream"
          value={shown?.upstream}
          options={names.map((name) => [name, name] as const)}
        />
        <TextField
          id="prompt"
          name="prompt"
          label="Prompt"
          value={shown?.prompt ?? EXAMPLE_PROMPT}
          maxLength={PROMPT_MAX_CHARACTERS}
          required
          autocomplete="off"
        />
        <button type="submit" class="apart">
          Show request
        </button>
      </Form>
      {shown === undefined ? null : (
        <div class="request apart">
          <pre tabIndex={0} role="region" aria-label="Request">
            {shown.lines.join('\n')}
          </pre>
        </div>
      )}
    </Section>
  );
}

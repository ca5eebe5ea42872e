import type { VNode } from 'preact';
import {
  type ListedRoute,
  listUpstreamRoutes,
  showUpstreamRequest,
} from '../../../../../shared/domain/upstreams/listRoutes.ts';
import { listTrials } from '../../../../../shared/domain/upstreams/trials.ts';
import { getModelName } from '../../../../../shared/domain/reports/labels.ts';
import { PROMPT_MAX_CHARACTERS } from '../../../../../shared/spec/limits.ts';
import type { Context } from '../../../../context.ts';
import { mayUse, type PageProblem, sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { SelectField, TextField } from '../../../../web/components/fields.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { Table } from '../../../../web/components/table.tsx';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { HealthTags } from '../incident/view.tsx';
import { Section } from '../../../../web/components/section.tsx';
import { requestTrialOfForm, SendForm, Steps, TrialTable, UPSTREAMS_PATH } from './trials.tsx';

const EXAMPLE_PROMPT = 'A lighthouse at dusk';
const TRIALS_SHOWN = 20;

/** A request as it would be sent. */
interface ShownRequest {
  upstream: string;
  prompt: string;
  lines: string[];
}

/** Renders the choices of all models, with a form that shows the request that one of them would receive. */
export async function renderUpstreams(ctx: Context, problem: PageProblem = {}, status = 200): Promise<void> {
  const [routes, shown] = await Promise.all([listUpstreamRoutes(), readShownRequest(ctx)]);
  const children = (
    <>
      <p class="quiet">The upstreams of each model, as this process is configured.</p>
      <Section id="routes" title="Choices of the models">
        <RouteTable routes={routes} />
      </Section>
      {mayUse(ctx, 'tryUpstreams') ? (
        <>
          <RequestForm routes={routes} shown={shown} />
          <Section id="trials" title="Trials">
            <TrialTable trials={await listTrials(TRIALS_SHOWN)} />
          </Section>
        </>
      ) : null}
    </>
  );
  await sendStaffConsolePage(ctx, { current: UPSTREAMS_PATH, heading: 'Upstreams', ...problem, children }, status);
}

export const sendTrial = showErrorsOn(renderUpstreams)(requestTrialOfForm);

/** Builds the request that the page asks for, or that was not sent; undefined without one. */
async function readShownRequest(ctx: Context): Promise<ShownRequest | undefined> {
  const { form } = ctx.state;
  const { upstream, prompt = '' } = form === undefined ? ctx.query : Object.fromEntries(form);
  if (typeof upstream !== 'string' || typeof prompt !== 'string' || !mayUse(ctx, 'tryUpstreams')) return undefined;
  return { upstream, prompt, lines: await showUpstreamRequest(upstream, prompt) };
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

function RequestForm({ routes, shown }: { routes: readonly ListedRoute[]; shown: ShownRequest | undefined }): VNode {
  const names = [...new Set(routes.map(({ upstream }) => upstream))];
  return (
    <Section id="request" title="Try an upstream">
      <p>
        Shows the request that an upstream would receive for an example of its model, with *** in the place of keys. It
        can be sent from here afterwards.
      </p>
      <form action={`${UPSTREAMS_PATH}#request`}>
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
      </form>
      {shown === undefined ? null : (
        <div class="apart">
          <Steps label="Request" lines={shown.lines} />
          <SendForm upstream={shown.upstream} prompt={shown.prompt} />
        </div>
      )}
    </Section>
  );
}

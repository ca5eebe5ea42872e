import type { VNode } from 'preact';
import { findTrial, requestTrial } from '../../../../../shared/domain/upstreams/trials.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { type Context, requireActor } from '../../../../context.ts';
import type { UpstreamTrial } from '../../../../../shared/tables/UpstreamTrial.ts';
import { sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { Form, RequestKey } from '../../../../web/components/form.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { Time } from '../../../../web/components/time.tsx';
import { parseReason, parseRequest, ReasonField } from '../actions/defineAction.tsx';
import { Facts, Section } from '../../../../web/components/section.tsx';
import { OutputPreview } from '../sections.tsx';

export const UPSTREAMS_PATH = '/admin/upstreams/';
const RELOAD_SECONDS = 3;

const getTrialPath = ({ uuid }: Pick<UpstreamTrial, 'uuid'>): string => `${UPSTREAMS_PATH}trials/${uuid}/`;

/** Has a worker send what the form names, and leads to the page that shows its steps. */
export async function requestTrialOfForm(ctx: Context): Promise<void> {
  const form = getForm(ctx);
  const trial = {
    uuid: parseRequest(form),
    upstream: form.get('upstream') ?? '',
    prompt: (form.get('prompt') ?? '').trim(),
  };
  await requestTrial(trial, requireActor(ctx, parseReason(form)));
  seeOther(ctx, getTrialPath(trial));
}

/** Shows the steps of a trial, and its file once it has ended. */
export async function showTrial(ctx: Context): Promise<void> {
  const trial = await findTrial(parseUuidParam(ctx));
  const { upstream, prompt, steps, ended_at: endedAt, output_path: output } = trial;
  const children = (
    <>
      <Section id="state" title="State">
        <Facts
          facts={[
            ['State', describeState(trial)],
            ['Upstream', upstream],
            ['Prompt', prompt],
            ['Requested', <Time at={trial.requested_at} hasSeconds />],
            endedAt === null ? null : ['Ended', <Time at={endedAt} hasSeconds />],
          ]}
        />
      </Section>
      {endedAt === null ? null : (
        <Section id="output" title="Output">
          <OutputPreview path={output} isVideo={output !== null && /\.(mp4|webm)$/.test(output)} />
        </Section>
      )}
      <Section id="steps" title="Steps">
        <Steps label="Steps" lines={steps} />
      </Section>
    </>
  );
  const refresh = endedAt === null ? { seconds: RELOAD_SECONDS, to: getTrialPath(trial) } : undefined;
  const heading = `Trial of ${upstream}`;
  await sendStaffConsolePage(ctx, { current: UPSTREAMS_PATH, heading, children, refresh, hasMedia: true });
}

/** Requests, responses and states, a line each. */
export function Steps({ label, lines }: { label: string; lines: readonly string[] }): VNode {
  if (lines.length === 0) return <p class="quiet">None yet.</p>;
  return (
    <div class="request">
      <pre tabIndex={0} role="region" aria-label={label}>
        {lines.join('\n')}
      </pre>
    </div>
  );
}

/** Sends the request that is shown above it. */
export function SendForm({ upstream, prompt }: { upstream: string; prompt: string }): VNode {
  return (
    <Form action={UPSTREAMS_PATH} class="apart">
      <p>
        A worker sends it once, for no account, and follows it to its file. The provider charges for it, and it uses no
        slot of the limits.
      </p>
      <RequestKey />
      <input type="hidden" name="upstream" value={upstream} />
      <input type="hidden" name="prompt" value={prompt} />
      <ReasonField />
      <button type="submit" class="main apart">
        Send request
      </button>
    </Form>
  );
}

export function TrialTable({ trials }: { trials: readonly UpstreamTrial[] }): VNode {
  return (
    <Table
      label="Trials"
      columns={['Requested', 'Upstream', 'Prompt', 'State']}
      empty="None in the last 7 days."
      rows={trials.map((trial) => [
        <a href={getTrialPath(trial)}>
          <Time at={trial.requested_at} />
        </a>,
        trial.upstream,
        trial.prompt,
        describeState(trial),
      ])}
    />
  );
}

function describeState({ started_at: startedAt, ended_at: endedAt, output_path: output }: UpstreamTrial): VNode {
  if (endedAt !== null)
    return output === null ? <span class="tag warn">failed</span> : <span class="tag">succeeded</span>;
  return <span class="tag off">{startedAt === null ? 'waiting for a worker' : 'running'}</span>;
}

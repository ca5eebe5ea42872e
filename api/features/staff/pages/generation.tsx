import { getModelInfo } from '../../../../shared/lib/catalog/knownModels.ts';
import type { VNode } from 'preact';
import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { findLiveAccount } from '../../../../shared/domain/accounts/testAccounts.ts';
import { type GenerationContent, viewGenerationContent } from '../../../../shared/domain/staff/generationActions.ts';
import { findGenerationForStaff, type StaffGeneration } from '../../../../shared/domain/staff/generations.ts';
import { requireActor, type Context } from '../../../context.ts';
import { getForm } from '../../../pipeline/body.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { mayUse, type Outcomes, type PageProblem, sendStaffConsolePage } from '../../../web/components/areaPage.tsx';
import { Form } from '../../../web/components/form.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { Time } from '../../../web/components/time.tsx';
import { describeStatus } from './account/history.tsx';
import { Actions } from './account/profile.tsx';
import { ACCOUNTS_PATH } from './accountSearch.tsx';
import { getAccountPath } from './actions/accountActions.tsx';
import { parseReason, ReasonField } from './actions/defineAction.tsx';
import { getGenerationPath } from './actions/generationActions.tsx';
import { Facts, Section } from '../../../web/components/section.tsx';
import { OutputPreview } from './sections.tsx';

const OUTCOMES = {
  refunded: 'The credits of the generation are refunded.',
  requeued: 'The generation is due now.',
  unchanged: 'Nothing was changed: it had been done before.',
} as const satisfies Outcomes;

/** Shows the prompt and the output of a generation in the response to the form with the reason. */
export const showGenerationContent = showErrorsOn(renderGeneration)(async (ctx) => {
  const uuid = parseUuidParam(ctx);
  const content = await viewGenerationContent(uuid, requireActor(ctx, parseReason(getForm(ctx))));
  await renderGeneration(ctx, { content });
});

/** Redirects to the page of a generation: people reload the response to its form. */
export function redirectToGeneration(ctx: Context): void {
  seeOther(ctx, getGenerationPath({ uuid: parseUuidParam(ctx) }));
}

interface GenerationFlash extends PageProblem {
  content?: GenerationContent;
}

/** Renders a generation, without its prompt and output unless they are given. */
export async function renderGeneration(
  ctx: Context,
  { content, ...problem }: GenerationFlash = {},
  status = 200,
): Promise<void> {
  const generation = await findGenerationForStaff(parseUuidParam(ctx));
  const account = await findLiveAccount(await getAccount(generation.account_id));
  const children = (
    <>
      <p>
        Account: <a href={getAccountPath(account)}>{account.email}</a>
        {generation.is_test ? ', test mode' : ''}
      </p>
      <Section
        id="state"
        title="State"
        actions={
          <Actions
            ctx={ctx}
            path={getGenerationPath(generation)}
            actions={account.erased_at === null ? listActions(generation) : []}
          />
        }
      >
        <GenerationFacts generation={generation} />
      </Section>
      {content === undefined ? null : <ContentSection content={content} />}
      {content === undefined && generation.deleted_at === null && mayUse(ctx, 'viewContent') ? (
        <Section id="view-content" title="Prompt and output">
          <p>They belong to the customer. Viewing them is recorded with your reason.</p>
          <Form action={`${getGenerationPath(generation)}content/`}>
            <ReasonField />
            <button type="submit" class="apart">
              View prompt and output
            </button>
          </Form>
        </Section>
      ) : null}
    </>
  );
  await sendStaffConsolePage(
    ctx,
    {
      current: ACCOUNTS_PATH,
      heading: `Generation ${generation.uuid}`,
      outcomes: OUTCOMES,
      ...problem,
      children,
      hasMedia: content !== undefined,
    },
    status,
  );
}

function listActions({
  status,
  refunded_at: refundedAt,
  is_test: isTest,
}: StaffGeneration): Parameters<typeof Actions>[0]['actions'] {
  if (status === 'queued') return [['requeue/', 'Requeue', 'manageQueues']];
  return status === 'succeeded' && refundedAt === null && !isTest ? [['refund/', 'Refund', 'refundGenerations']] : [];
}

const describeOptional = (time: Date | null) => (time === null ? 'never' : <Time at={time} />);

function GenerationFacts({ generation }: { generation: StaffGeneration }): VNode {
  return (
    <Facts
      facts={[
        ['Status', describeStatus(generation)],
        ['Model', generation.model],
        [
          'Credits',
          `${formatNumber(generation.credits_charged)}, of which ${formatNumber(generation.plan_credits_charged)} plan credits`,
        ],
        ['Error', generation.error_reason ?? 'none'],
        ['Upstream', `${generation.upstream ?? 'none'} ${generation.upstream_model ?? ''}`.trim()],
        ['Provider cost (cents)', generation.provider_cost_cents ?? 'unknown'],
        ['Unconfirmed submits', generation.unconfirmed_submits],
        ['Created', <Time at={generation.created_at} />],
        ['Last poll', describeOptional(generation.polled_at)],
        ['Next attempt', generation.status === 'queued' ? <Time at={generation.next_attempt_at} /> : 'none'],
        ['Deadline', <Time at={generation.deadline_at} />],
        ['Ended', describeOptional(generation.completed_at)],
        ['Refunded by staff', describeOptional(generation.refunded_at)],
        ['Deleted by the owner', describeOptional(generation.deleted_at)],
      ]}
    />
  );
}

function ContentSection({ content }: { content: GenerationContent }): VNode {
  const { prompt, params, output_path: output, error_message: error } = content;
  return (
    <Section id="content" title="Prompt and output">
      <Facts
        facts={[
          ['Prompt', prompt],
          ['Parameters', JSON.stringify(params)],
          error === null ? null : ['Error message', error],
        ]}
      />
      <OutputPreview path={output} isVideo={getModelInfo(content.model).kind === 'video'} />
    </Section>
  );
}

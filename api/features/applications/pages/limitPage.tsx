import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import type { ConnectedApplication } from '../../../../shared/domain/oauth/grants.ts';
import { formatLimit, type SpendingLimitState } from '../../../../shared/presenters/spendingLimit.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { Form } from '../../../web/components/form.tsx';
import { describeLimitHint, limitForm } from '../../../web/components/spendingLimit.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { t } from './texts.ts';
import { APPLICATIONS_PATH } from './view.tsx';

/** Field with the limit that the page shows as the one in force. */
export const FORMER_LIMIT_FIELD = 'former_limit';

interface LimitPageProps extends PageProblem {
  application: ConnectedApplication;
  /** The limit in force. */
  current: SpendingLimitState | null;
  /** Texts of the form. */
  values: URLSearchParams;
}

/** Renders the form for the spending limit of an application, again with what was entered if that was not accepted. */
export async function renderLimitPage(ctx: Context, page: LimitPageProps): Promise<void> {
  const { application, current, values, problem } = page;
  const { balance } = await getAccount(requireCaller(ctx).accountId);
  const children = (
    <Section id="limit" title={application.clientName}>
      <Form action={`${APPLICATIONS_PATH}${application.uuid}/limit/`}>
        <input type="hidden" name={FORMER_LIMIT_FIELD} value={formatLimit(current)} />
        <limitForm.Fields values={values} hints={{ limit: describeLimitHint(current, balance) }} />
        <div class="buttons">
          <button type="submit" class="main">
            {shared.save()}
          </button>
          <a class="button" href={APPLICATIONS_PATH}>
            {shared.cancel()}
          </a>
        </div>
      </Form>
    </Section>
  );
  const heading = t.spendingLimit();
  await sendAccountAreaPage(
    ctx,
    { current: APPLICATIONS_PATH, heading, problem, children },
    problem === undefined ? 200 : 400,
  );
}

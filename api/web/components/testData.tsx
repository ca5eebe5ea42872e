import type { VNode } from 'preact';
import Type from 'typebox';
import { findTestAccountId, requireTestAccount } from '../../../shared/domain/accounts/testAccounts.ts';
import { createQueryParser } from '../../../shared/lib/validation/queryParser.ts';
import { TEST_RETENTION_DAYS } from '../../../shared/spec/testMode.ts';
import { requireCaller, type Context } from '../../context.ts';
import { ModeParameter } from '../../pipeline/requestParameters.ts';
import { t } from '../texts.ts';

/** Query of pages that show what the test keys of the account have created. */
export const TEST_QUERY = 'mode=test';

const parseQuery = createQueryParser(Type.Object({ mode: ModeParameter }));

/** The account that a page shows. */
export interface ShownAccount {
  accountId: number;
  /** True for the test account, which the owner can only read. */
  isTest: boolean;
  /** True if the account has test data to switch to. */
  hasTestData: boolean;
}

/**
 * Finds the account that a page shows: with `?mode=test`, the test account.
 * @throws ServiceError not_found if the account has none; validation_error for another mode.
 */
export async function findShownAccount(ctx: Context): Promise<ShownAccount> {
  const { accountId } = requireCaller(ctx);
  if (parseQuery(ctx.query).mode === 'test')
    return { accountId: await requireTestAccount(accountId), isTest: true, hasTestData: true };
  return { accountId, isTest: false, hasTestData: (await findTestAccountId(accountId)) !== null };
}

/** Says whose data a page shows, with a link to the other. Nothing for an account without test data. */
export function ModeNote({
  shown: { isTest, hasTestData },
  path,
}: {
  shown: ShownAccount;
  path: string;
}): VNode | null {
  if (isTest)
    return (
      <p class="card">
        {t.testData({ tag: (text) => <span class="tag">{text}</span>, days: TEST_RETENTION_DAYS, link: path })}
      </p>
    );
  if (!hasTestData) return null;
  return <p class="quiet">{t.liveData({ link: `${path}?${TEST_QUERY}` })}</p>;
}

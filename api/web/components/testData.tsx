import type { VNode } from 'preact';
import Type from 'typebox';
import { findTestAccountId, requireTestAccount } from '../../../shared/domain/accounts/testAccounts.ts';
import { createQueryParser } from '../../../shared/lib/validation/queryParser.ts';
import { TEST_RETENTION_DAYS } from '../../../shared/spec/testMode.ts';
import { requireCaller, type Context } from '../../context.ts';
import { ModeParameter } from '../../pipeline/requestParameters.ts';

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
        <span class="tag">Test</span> You see what your test keys have created. It costs nothing, and is deleted after{' '}
        {TEST_RETENTION_DAYS} days. <a href={path}>Show live data</a>
      </p>
    );
  if (!hasTestData) return null;
  return (
    <p class="quiet">
      Live data. <a href={`${path}?${TEST_QUERY}`}>Show test data</a>
    </p>
  );
}

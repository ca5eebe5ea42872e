import type { VNode } from 'preact';
import { describeAccountState } from '../../../../shared/domain/staff/accountState.ts';
import { SEARCH_RESULTS_MAX, searchAccounts } from '../../../../shared/domain/staff/accountLookup.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import type { Context } from '../../../context.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { formatCount } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { sendStaffConsolePage } from '../../../web/components/areaPage.tsx';
import { Section } from '../../../web/components/section.tsx';
import { Table } from '../../../web/components/table.tsx';

export const ACCOUNTS_PATH = '/admin/accounts/';

const withSearchErrors = showErrorsOn((ctx, { problem }, status) =>
  sendStaffConsolePage(
    ctx,
    { current: ACCOUNTS_PATH, heading: 'Accounts', problem, children: <SearchForm query="" /> },
    status,
  ),
);

/** Searches accounts. A single result is opened, several are listed. */
export const showAccountSearch = withSearchErrors(async (ctx: Context) => {
  const { q = '' } = ctx.query;
  const query = typeof q === 'string' ? q : '';
  const found = query.trim() === '' ? undefined : await searchAccounts(query);
  const [first] = found ?? [];
  if (first !== undefined && found?.length === 1) return seeOther(ctx, `${ACCOUNTS_PATH}${first.uuid}/`);
  const children = (
    <>
      <SearchForm query={query} />
      {found === undefined ? null : <Results found={found} />}
    </>
  );
  await sendStaffConsolePage(ctx, { current: ACCOUNTS_PATH, heading: 'Accounts', children });
});

function SearchForm({ query }: { query: string }): VNode {
  return (
    <section class="card" aria-label="Search">
      <form method="get" action={ACCOUNTS_PATH} role="search" class="inline">
        <div class="field">
          <label for="search">Search accounts</label>
          <input id="search" type="text" name="q" value={query} autocomplete="off" aria-describedby="search-hint" />
        </div>
        <button type="submit" class="main">
          Search
        </button>
      </form>
      <p class="hint" id="search-hint">
        E-mail address or its beginning; UUID of an account, API key, generation, top-up or invoice; account number;
        first 12 characters of an API key; Stripe id of a customer, subscription, payment, checkout page or invoice.
      </p>
    </section>
  );
}

function Results({ found }: { found: Account[] }): VNode {
  return (
    <Section
      id="results"
      title={
        found.length === 0
          ? 'No account found'
          : `${formatCount(found.length, 'account')}${found.length === SEARCH_RESULTS_MAX ? ' or more' : ''}`
      }
    >
      <Table
        label="Accounts"
        columns={['E-mail address', 'Plan', 'Signed up', 'State']}
        empty="No account matches. Check the spelling, or search by one of the identifiers above."
        rows={found.map((account) => [
          <a href={`${ACCOUNTS_PATH}${account.uuid}/`}>{account.email}</a>,
          account.plan_slug ?? 'none',
          formatDate(account.created_at),
          describeAccountState(account).state,
        ])}
      />
    </Section>
  );
}

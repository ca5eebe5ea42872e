import type { VNode } from 'preact';
import { pickSingleAccount, searchAccounts } from '../../../../shared/domain/staff/accountLookup.ts';
import { listAuditEntries } from '../../../../shared/domain/audit/auditLog.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import type { Context } from '../../../context.ts';
import { buildFilterQuery, parseCursor } from '../../../pipeline/lists.ts';
import { dropEmptyFields } from '../../../pipeline/requestParameters.ts';
import { sendStaffConsolePage } from '../../../web/components/areaPage.tsx';
import { TextField } from '../../../web/components/fields.tsx';
import { CursorLinks } from '../../../web/components/pageLinks.tsx';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { AuditTable } from './auditTable.tsx';

const AUDIT_PATH = '/admin/audit/';

interface Filters {
  account: string;
  actor: string;
}

const withAuditErrors = showErrorsOn((ctx, { problem }, status) =>
  sendStaffConsolePage(
    ctx,
    { current: AUDIT_PATH, heading: 'Audit log', problem, children: <FilterForm {...readFilters(ctx)} /> },
    status,
  ),
);

/** Shows one page of the audit log, by account and by staff member. */
export const showAuditLog = withAuditErrors(async (ctx: Context) => {
  const filters = readFilters(ctx);
  const [accountId, actorId] = await Promise.all([findAccountId(filters.account), findAccountId(filters.actor)]);
  const before = parseCursor(ctx);
  const query = buildFilterQuery(dropEmptyFields({ ...filters }), ['account', 'actor']);
  const { items, next } = await listAuditEntries({ accountId, actorId, before });
  const children = (
    <>
      <FilterForm {...filters} />
      <section class="card" aria-label="Entries">
        <AuditTable items={items} />
      </section>
      <CursorLinks path={AUDIT_PATH} query={query} before={before} next={next} />
    </>
  );
  await sendStaffConsolePage(ctx, { current: AUDIT_PATH, heading: 'Audit log', children });
});

function FilterForm({ account, actor }: Filters): VNode {
  return (
    <section class="card" aria-label="Filters">
      <form method="get" action={AUDIT_PATH} class="inline">
        <TextField id="account" name="account" label="Affected account" value={account} autocomplete="off" />
        <TextField id="actor" name="actor" label="Staff member" value={actor} autocomplete="off" />
        <button type="submit">Filter</button>
      </form>
      <p class="hint">E-mail addresses or UUIDs of accounts.</p>
    </section>
  );
}

function readFilters(ctx: Context): Filters {
  const read = (name: string) => {
    const value = ctx.query[name];
    return typeof value === 'string' ? value.trim() : '';
  };
  return { account: read('account'), actor: read('actor') };
}

/** @throws ServiceError not_found; validation_error if several accounts have the address. */
async function findAccountId(query: string): Promise<number | undefined> {
  if (query === '') return undefined;
  const found = await searchAccounts(query);
  const owned = pickSingleAccount(found.filter(({ email }) => email === query.toLowerCase()));
  const exact = owned ?? (found.length === 1 ? found[0] : undefined);
  if (exact !== undefined) return exact.id;
  throw new ServiceError('not_found', `No single account matches ${query.slice(0, 200)}. Enter its whole address.`);
}

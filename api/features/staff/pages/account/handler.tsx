import { listPendingApprovals } from '../../../../../shared/domain/staff/approvals.ts';
import { findAccountForStaff, readAccountOverview } from '../../../../../shared/domain/staff/accountOverview.ts';
import { listAuditEntries } from '../../../../../shared/domain/audit/auditLog.ts';
import { listGenerationsForStaff } from '../../../../../shared/domain/staff/generations.ts';
import { listLedgerEntries } from '../../../../../shared/domain/credits/ledger.ts';
import type { Context } from '../../../../context.ts';
import { parseCursor, parsePage } from '../../../../pipeline/lists.ts';
import { parseUuidParam } from '../../../../pipeline/requestParameters.ts';
import { mayUse, type Outcomes, sendStaffConsolePage } from '../../../../web/components/areaPage.tsx';
import { CursorLinks, PageLinks } from '../../../../web/components/pageLinks.tsx';
import { ACCOUNTS_PATH } from '../accountSearch.tsx';
import { ApprovalTable } from '../approvalTable.tsx';
import { AuditTable } from '../auditTable.tsx';
import { getAccountPath } from '../actions/accountActions.tsx';
import { Section } from '../../../../web/components/section.tsx';
import { AccessSection, AffiliateSection } from './access.tsx';
import { GenerationTable, LedgerTable } from './history.tsx';
import { PaymentSection } from './payments.tsx';
import { CreditsSection, PlanSection, ProfileSection } from './profile.tsx';
import { TaskTable } from '../tasks/table.tsx';
import { SummarySection } from './summary.tsx';

/** Rows on the account page. */
const AUDIT_ENTRIES_SHOWN = 10;
const GENERATIONS_SHOWN = 10;

const OUTCOMES = {
  suspended: 'The account is suspended.',
  reinstated: 'The account is reinstated.',
  'signed-out': 'The account is signed out everywhere.',
  'access-revoked': 'All sessions, API keys, applications and open invitations of the account are revoked.',
  'member-removed': 'The member is removed, and its API keys and applications are revoked.',
  'key-revoked': 'The API key is revoked.',
  'approval-requested': 'Another member of staff must approve the adjustment within 24 hours.',
  'adjustment-rejected': 'The adjustment is rejected.',
  adjusted: 'The credits are adjusted.',
  'topup-refund': 'The refund is recorded. It is issued within a minute, and the credits are taken back afterwards.',
  'refund-closed': 'The refund is closed. It is not listed as a problem any more.',
  unchanged: 'Nothing was changed: it had been done before.',
} as const satisfies Outcomes;

/** Shows an account: its state, the latest rows of each list, and the actions that the role may perform. */
export async function showAccount(ctx: Context): Promise<void> {
  const account = await findAccountForStaff(parseUuidParam(ctx));
  const mayViewAuditLog = mayUse(ctx, 'viewAuditLog');
  const [overview, approvals, audit] = await Promise.all([
    readAccountOverview(account),
    listPendingApprovals(account.id),
    mayViewAuditLog ? listAuditEntries({ accountId: account.id, limit: AUDIT_ENTRIES_SHOWN }) : undefined,
  ]);
  const path = getAccountPath(account);
  const { affiliate, issues, tasks } = overview;
  const sections: [string, string][] = [
    ['credits', 'Credits'],
    ['profile', 'Profile'],
    ['plan', 'Plan'],
    ['ledger', 'Ledger'],
    ['generations', 'Generations'],
    ['payments', 'Payments'],
    ...(tasks.length === 0 ? [] : ([['tasks', 'Tasks']] as [string, string][])),
    ['access', 'Access'],
    ...(affiliate === null ? [] : ([['affiliate', 'Affiliate']] as [string, string][])),
    ...(audit === undefined ? [] : ([['audit', 'Audit log']] as [string, string][])),
  ];
  const children = (
    <>
      <SummarySection overview={overview} ctx={ctx} sections={sections} />
      {issues.length === 0 ? null : (
        <Section id="problems" title="Problems">
          <ul class="plain">
            {issues.map((issue) => (
              <li>{issue}</li>
            ))}
          </ul>
        </Section>
      )}
      {approvals.length === 0 ? null : (
        <Section id="approvals" title="Adjustments to approve">
          <ApprovalTable approvals={approvals} ctx={ctx} />
        </Section>
      )}
      <div class="columns">
        <CreditsSection overview={overview} ctx={ctx} />
        <ProfileSection overview={overview} ctx={ctx} />
      </div>
      <PlanSection overview={overview} ctx={ctx} />
      <Section id="ledger" title="Ledger">
        <LedgerTable entries={overview.ledger} />
        <p class="apart">
          <a href={`${path}ledger/`}>All {account.ledger_count} entries</a>
        </p>
      </Section>
      <Section id="generations" title="Generations">
        <GenerationTable generations={overview.generations.items.slice(0, GENERATIONS_SHOWN)} />
        <p class="apart">
          <a href={`${path}generations/`}>All generations</a>
          <span class="quiet">
            {' '}
            {account.generation_count} created, {account.generations_deleted} deleted by the owner and not listed
          </span>
        </p>
      </Section>
      <PaymentSection overview={overview} ctx={ctx} />
      {tasks.length === 0 ? null : (
        <Section id="tasks" title="Tasks">
          <TaskTable ctx={ctx} label="Tasks" tasks={tasks} isOfOneAccount />
        </Section>
      )}
      <AccessSection overview={overview} ctx={ctx} />
      <AffiliateSection overview={overview} ctx={ctx} />
      {audit === undefined ? null : (
        <Section id="audit" title="Audit log">
          <AuditTable items={audit.items} />
          <p class="apart">
            <a href={`/admin/audit/?account=${account.uuid}`}>All entries</a>
          </p>
        </Section>
      )}
    </>
  );
  await sendStaffConsolePage(ctx, { current: ACCOUNTS_PATH, heading: account.email, outcomes: OUTCOMES, children });
}

/** Shows one page of the ledger of an account. */
export async function showAccountLedger(ctx: Context): Promise<void> {
  const account = await findAccountForStaff(parseUuidParam(ctx));
  const list = await listLedgerEntries(account.id, parsePage(ctx));
  const path = getAccountPath(account);
  const children = (
    <>
      <p>
        <a href={path}>Back to the account</a>
      </p>
      <section class="card" aria-label="Entries">
        <LedgerTable entries={list.items} />
      </section>
      <PageLinks list={list} path={`${path}ledger/`} />
    </>
  );
  await sendStaffConsolePage(ctx, { current: ACCOUNTS_PATH, heading: `Ledger of ${account.email}`, children });
}

/** Shows one page of the generations of an account, without prompts and outputs. */
export async function showAccountGenerations(ctx: Context): Promise<void> {
  const account = await findAccountForStaff(parseUuidParam(ctx));
  const before = parseCursor(ctx);
  const { items, next } = await listGenerationsForStaff(account.id, before);
  const path = getAccountPath(account);
  const children = (
    <>
      <p>
        <a href={path}>Back to the account</a>
      </p>
      <section class="card" aria-label="Generations">
        <GenerationTable generations={items} />
      </section>
      <CursorLinks path={`${path}generations/`} before={before} next={next} />
    </>
  );
  await sendStaffConsolePage(ctx, { current: ACCOUNTS_PATH, heading: `Generations of ${account.email}`, children });
}

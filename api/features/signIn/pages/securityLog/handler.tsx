import { getAccount } from '../../../../../shared/domain/accounts/accounts.ts';
import {
  listSecurityEvents,
  SECURITY_EVENT_RETENTION_DAYS,
} from '../../../../../shared/domain/accounts/securityEvents.ts';
import { ServiceError } from '../../../../../shared/spec/errors.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import { Time } from '../../../../web/components/time.tsx';
import { t as shared } from '../../../../web/texts.ts';
import { SETTINGS_PATH } from '../settings/outcomes.ts';
import { t as settings } from '../settings/texts.ts';
import { describeEvent } from './describeEvent.ts';
import { t } from './texts.ts';

const SECURITY_LOG_PATH = '/account/security/';

/** Shows one page of the security log. */
export async function showSecurityLogPage(ctx: Context): Promise<void> {
  const before = parseCursor(ctx.query['before']);
  const { accountId } = requireCaller(ctx);
  const [{ items, next }, account] = await Promise.all([listSecurityEvents(accountId, before), getAccount(accountId)]);
  const hasMembers = account.member_count > 1;
  const children = (
    <>
      <p class="quiet">{t.lead({ days: SECURITY_EVENT_RETENTION_DAYS })}</p>
      <section class="card" aria-label={t.events()}>
        <Table
          label={t.events()}
          columns={[t.time(), ...(hasMembers ? [t.member()] : []), t.event(), t.program(), t.network()]}
          empty={t.empty()}
          rows={items.map((item) => [
            <Time at={item.created_at} />,
            ...(hasMembers ? [item.member_email ?? ''] : []),
            describeEvent(item),
            item.network === '' ? t.service() : describeBrowser(item.user_agent),
            item.network,
          ])}
        />
      </section>
      {before === null && next === null ? null : (
        <nav class="pages" aria-label={shared.pages()}>
          {before === null ? null : (
            <a class="button slight" href={SECURITY_LOG_PATH}>
              {t.newest()}
            </a>
          )}
          {next === null ? null : (
            <a class="button slight" href={`${SECURITY_LOG_PATH}?before=${next}`} rel="next">
              {shared.older()}
            </a>
          )}
        </nav>
      )}
    </>
  );
  await sendAccountAreaPage(ctx, { current: SETTINGS_PATH, heading: settings.securityLog(), children });
}

/** @throws ServiceError validation_error */
function parseCursor(before: unknown): number | null {
  if (before === undefined) return null;
  if (typeof before === 'string' && /^[1-9]\d{0,14}$/.test(before)) return Number(before);
  throw new ServiceError('validation_error', 'before must be the cursor of a page. Open the security log again.');
}

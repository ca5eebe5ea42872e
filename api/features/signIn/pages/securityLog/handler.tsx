import { getAccount } from '../../../../../shared/domain/accounts/accounts.ts';
import {
  listSecurityEvents,
  SECURITY_EVENT_RETENTION_DAYS,
} from '../../../../../shared/domain/accounts/securityEvents.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { parseCursor } from '../../../../pipeline/lists.ts';
import { sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { CursorLinks } from '../../../../web/components/pageLinks.tsx';
import { Table } from '../../../../web/components/table.tsx';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import { Time } from '../../../../web/components/time.tsx';
import { SETTINGS_PATH } from '../settings/outcomes.ts';
import { t as settings } from '../settings/texts.ts';
import { t as shared } from '../../../../web/texts.ts';
import { describeEvent } from './describeEvent.ts';
import { t } from './texts.ts';

/** Shows one page of the security log. */
export async function showSecurityLogPage(ctx: Context): Promise<void> {
  const before = parseCursor(ctx);
  const { accountId } = requireCaller(ctx);
  const [{ items, next }, account] = await Promise.all([listSecurityEvents(accountId, before), getAccount(accountId)]);
  const hasMembers = account.member_count > 1;
  const children = (
    <>
      <p class="quiet">{t.lead({ days: SECURITY_EVENT_RETENTION_DAYS })}</p>
      <section class="card" aria-label={t.events()}>
        <Table
          label={t.events()}
          columns={[t.time(), ...(hasMembers ? [shared.member()] : []), shared.event(), t.program(), t.network()]}
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
      <CursorLinks path="/account/security/" before={before} next={next} />
    </>
  );
  await sendAccountAreaPage(ctx, { current: SETTINGS_PATH, heading: settings.securityLog(), children });
}

import { Readable } from 'node:stream';
import { listLedgerEntries } from '../../../shared/domain/credits/ledger.ts';
import { requireCaller, type Context } from '../../context.ts';
import { parsePage } from '../../pipeline/requestParameters.ts';
import { getBrand } from '../brand.ts';
import { sendAccountAreaPage } from '../components/accountPage.tsx';
import { formatChange, formatNumber } from '../components/formatAmount.ts';
import { formatShortDateTime } from '../components/formatTime.ts';
import { PageLinks } from '../components/pageLinks.tsx';
import { ScrollingTable } from '../components/scrollingTable.tsx';
import { writeLedgerCsv } from './csv.ts';

const LEDGER_PATH = '/account/ledger/';

/** Shows one page of the credit ledger. */
export async function showLedgerPage(ctx: Context): Promise<void> {
  const list = await listLedgerEntries(requireCaller(ctx).accountId, parsePage(ctx));
  const children = (
    <>
      <p class="quiet">Every change of your balance, newest first. Times are in UTC.</p>
      <section class="card" aria-label="Entries">
        {list.items.length === 0 ? (
          <p>No entries.</p>
        ) : (
          <ScrollingTable label="Ledger" columns={['Date', 'Description', 'Credits', 'Balance']} numbers={2}>
            {list.items.map((entry) => (
              <tr key={entry.uuid}>
                <td>{formatShortDateTime(entry.created_at)}</td>
                <td>{entry.description}</td>
                <td class="number">{formatChange(entry.amount)}</td>
                <td class="number">{formatNumber(entry.balance_after)}</td>
              </tr>
            ))}
          </ScrollingTable>
        )}
      </section>
      <PageLinks list={list} path={LEDGER_PATH} />
      <p>
        <a class="button" href="/account/ledger/export/" download>
          Download all entries (CSV)
        </a>
      </p>
    </>
  );
  sendAccountAreaPage(ctx, { current: LEDGER_PATH, heading: 'Ledger', children });
}

/** Sends the whole ledger as a CSV file, in batches, so that its size does not matter. */
export function exportLedger(ctx: Context): void {
  ctx.type = 'text/csv; charset=utf-8';
  ctx.set('content-disposition', `attachment; filename="${getBrand().slug}-ledger.csv"`);
  ctx.set('cache-control', 'no-store');
  ctx.body = Readable.from(writeLedgerCsv(requireCaller(ctx).accountId));
}

import { expect } from 'chai';
import { formatReport, isRecovered } from '../../dev/drill/report.ts';
import { runDrill } from '../../dev/drill/runDrill.ts';

describe('the restore drill', () => {
  it('restores a backup on new stores, settles queued work, and fetches later payments again', async function () {
    this.timeout(900_000);
    const lines: string[] = [];
    const report = await runDrill((line) => lines.push(line));
    const text = [...lines, ...formatReport(report)].join('\n');
    expect(report.differences, text).to.deep.equal([]);
    expect(report.settled.generations, text).to.equal(4);
    expect(report.payments, text).to.include({ made: 2, fetched: 2 });
    expect(report.lost, text).to.deep.equal({ accounts: 1, generations: 2, credits: 16 });
    expect(report.recovery.totalMs, text).to.be.above(0);
    expect(isRecovered(report), text).to.equal(true);
  });
});

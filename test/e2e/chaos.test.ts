import { expect } from 'chai';
import { BUGS } from '../../dev/chaos/planted/bugs.ts';
import { plantIn } from '../../dev/chaos/planted/copy.ts';
import { report } from '../../dev/chaos/report.ts';
import { run } from '../../dev/chaos/run.ts';
import { scheduleOf } from '../../dev/chaos/schedule.ts';
import { ROOT } from '../../dev/servers/builtService.ts';

describe('chaos', () => {
  it('is planned by its seed: the same again, and something else for another one, with an end to everything', () => {
    const [once, again, other] = [scheduleOf(7, 120_000), scheduleOf(7, 120_000), scheduleOf(8, 120_000)];
    expect(once).to.deep.equal(again);
    expect(once).to.not.deep.equal(other);
    expect(once.length).to.be.above(30);
    for (const { atMs, forMs } of once) expect(atMs + forMs).to.be.at.most(120_000);
  });

  it('has bugs to find that still fit the build', () => {
    for (const bug of BUGS) expect(() => plantIn(bug).remove(), bug.name).to.not.throw();
  });

  it('for a minute breaks no invariant, and all settles when it is over', async function () {
    this.timeout(400_000);
    const lines: string[] = [];
    const outcome = await run({
      seed: 1,
      seconds: 60,
      accounts: 16,
      clients: 6,
      isCalm: false,
      keeps: false,
      build: ROOT,
      sql: [],
      say: (line) => lines.push(line),
      sayFault: (line) => lines.push(line),
    });
    expect(outcome.violations, [...lines, ...report(outcome)].join('\n')).to.deep.equal([]);
    // That nothing went wrong says something only where much was going on.
    expect(outcome.generations, 'generations').to.be.above(20);
    expect(outcome.faults.length, 'faults').to.be.above(15);
    expect(outcome.checks, 'checks').to.be.above(2);
  });
});

import { expect } from 'chai';
import { SEEDED_BUGS } from '../../dev/chaos/seededBugs/bugs.ts';
import { copyBuildWithBug } from '../../dev/chaos/seededBugs/copyBuildWithBug.ts';
import { formatReport } from '../../dev/chaos/report.ts';
import { runChaos } from '../../dev/chaos/runChaos.ts';
import { buildSchedule } from '../../dev/chaos/schedule.ts';
import { ROOT } from '../../dev/local/builtProcess.ts';

describe('chaos', () => {
  it('is planned by its seed: the same again, and something else for another one, with an end to everything', () => {
    const [once, again, other] = [buildSchedule(7, 120_000), buildSchedule(7, 120_000), buildSchedule(8, 120_000)];
    expect(once).to.deep.equal(again);
    expect(once).to.not.deep.equal(other);
    expect(once.length).to.be.above(30);
    for (const { atMs, durationMs: forMs } of once) expect(atMs + forMs).to.be.at.most(120_000);
  });

  it('has bugs to find that still fit the build', () => {
    for (const bug of SEEDED_BUGS) expect(() => copyBuildWithBug(bug).remove(), bug.name).to.not.throw();
  });

  it('for a minute breaks no invariant, and all settles when it is over', async function () {
    this.timeout(400_000);
    const lines: string[] = [];
    const outcome = await runChaos({
      seed: 1,
      seconds: 60,
      accounts: 16,
      clients: 6,
      isCalm: false,
      keepsFiles: false,
      build: ROOT,
      sql: [],
      log: (line) => lines.push(line),
      logFault: (line) => lines.push(line),
    });
    expect(outcome.violations, [...lines, ...formatReport(outcome)].join('\n')).to.deep.equal([]);
    // That nothing went wrong says something only where much was going on.
    expect(outcome.generations, 'generations').to.be.above(20);
    expect(outcome.faults.length, 'faults').to.be.above(15);
    expect(outcome.checks, 'checks').to.be.above(2);
  });
});

import { expect } from 'chai';
import { formatReport } from '../../dev/chaos/report.ts';
import { runChaos } from '../../dev/chaos/runChaos.ts';
import { buildSchedule } from '../../dev/chaos/schedule.ts';
import { ROOT } from '../../dev/local/environment/build.ts';

describe('chaos', () => {
  it('the schedule of faults depends only on the seed, and every fault ends within the run', () => {
    const [once, again, other] = [buildSchedule(7, 120_000), buildSchedule(7, 120_000), buildSchedule(8, 120_000)];
    expect(once).to.deep.equal(again);
    expect(once).to.not.deep.equal(other);
    expect(once.length).to.be.above(30);
    for (const { atMs, durationMs: forMs } of once) expect(atMs + forMs).to.be.at.most(120_000);
  });

  it('a minute of faults violates no invariant, and all work completes afterwards', async function () {
    // The run limits each of its waits by the speed of the machine: 520 s on one that was slowed down 20 times.
    this.timeout(900_000);
    const lines: string[] = [];
    const outcome = await runChaos({
      seed: 1,
      seconds: 60,
      accounts: 16,
      clients: 6,
      build: ROOT,
      log: (line) => lines.push(line),
      logFault: (line) => lines.push(line),
    });
    expect(outcome.violations, [...lines, ...formatReport(outcome)].join('\n')).to.deep.equal([]);
    // A run without violations proves something only if there was enough load.
    expect(outcome.journal.generations.size, 'generations').to.be.above(20);
    expect(outcome.faults.length, 'faults').to.be.above(15);
    expect(outcome.checks, 'checks').to.be.above(2);
    expect(outcome.journal.webhooks.required, 'webhooks').to.be.above(5);
  });
});

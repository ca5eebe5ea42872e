import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { scheduleTasks, rescheduleTasks } from '../../shared/domain/tasks/scheduleTasks.ts';
import type { Task, TaskKind } from '../../shared/domain/tasks/taskKind.ts';
import { sweepTasks } from '../../shared/domain/tasks/runTasks.ts';
import { db } from '../../shared/lib/database/pool.ts';
import { waitForInFlight } from '../../shared/lib/drain.ts';
import { readTasks, runTasks } from '../harness/tasks.ts';
import { useTestService } from '../harness/testService.ts';

const MINUTE_MS = 60_000;

const schedule = ({ name }: TaskKind, ...keys: string[]) =>
  db.transaction((transaction) =>
    scheduleTasks(
      transaction,
      name,
      keys.map((key) => ({ key, accountId: null })),
    ),
  );

describe('tasks', () => {
  const service = useTestService({ workers: 0 });
  let kindCount = 0;
  afterEach(() => service.sql('DELETE FROM tasks'));

  /** Defines a kind, whose runs are listed by their keys. */
  const define = (run: (task: Task) => Promise<unknown> = async () => undefined, settings: Partial<TaskKind> = {}) => {
    const runs: string[][] = [];
    kindCount += 1;
    const kind: TaskKind = {
      name: `test.${kindCount}`,
      backoff: { minMs: MINUTE_MS, maxMs: 60 * MINUTE_MS },
      ...settings,
      run: async (tasks) => {
        runs.push(tasks.map(({ key }) => key).toSorted());
        let result: unknown;
        for (const task of tasks) result = await run(task);
        return result as undefined;
      },
    };
    return { kind, runs };
  };
  const read = ({ name }: TaskKind) => readTasks(service, name);
  const makeDue = () => service.sql(`UPDATE tasks SET run_at = now() - interval '1 second'`);

  it('are deleted once they are done, and unique by kind and key', async () => {
    const { kind, runs } = define();
    await schedule(kind, 'a', 'b');
    await schedule(kind, 'a');
    await runTasks(kind);
    expect(runs).to.have.deep.members([['a'], ['b']]);
    expect(await read(kind)).to.deep.equal([]);
  });

  it('are not scheduled by a transaction that is rolled back', async () => {
    const { kind, runs } = define();
    const failing = db.transaction(async (transaction) => {
      await scheduleTasks(transaction, kind.name, [{ key: 'a', accountId: null }]);
      throw new Error('rolled back');
    });
    await failing.catch(() => {});
    await runTasks(kind);
    expect([runs, await read(kind)]).to.deep.equal([[], []]);
  });

  it('are repeated with back-off after a failure, which ends the pass of the process', async () => {
    const { kind, runs } = define(() => Promise.reject(new Error('unavailable')));
    await schedule(kind, 'a', 'b', 'c');
    await runTasks(kind);
    expect(runs).to.have.length(1);
    const failed = (await read(kind)).filter(({ attempts }) => attempts === 1);
    expect(failed.map(({ last_error: error, lease }) => [error, lease])).to.deep.equal([['unavailable', null]]);
    expect(failed[0].run_at.getTime() - service.now.getTime()).to.be.within(50_000, MINUTE_MS);
    await service.sql('DELETE FROM tasks WHERE attempts = 0');
    await makeDue();
    await runTasks(kind);
    const [again] = await read(kind);
    expect([again.attempts, again.run_at.getTime() - service.now.getTime() > 1.8 * MINUTE_MS]).to.deep.equal([2, true]);
  });

  it('that are postponed without a reason have not failed', async () => {
    let reason: string | undefined = 'A dispute is open.';
    const { kind } = define(async () => ({ runAt: new Date(Date.now() + MINUTE_MS), ...(reason && { reason }) }));
    await schedule(kind, 'a');
    await runTasks(kind);
    expect((await read(kind))[0].last_error).to.equal('A dispute is open.');
    reason = undefined;
    await makeDue();
    await runTasks(kind);
    expect((await read(kind))[0]).to.include({ attempts: 0, last_error: null, lease: null });
  });

  it('are given up as their kind says, and start again when their cause is scheduled again', async () => {
    let isBroken = true;
    const { kind, runs } = define(async () => (isBroken ? Promise.reject(new Error('never')) : undefined), {
      isGivenUp: ({ attempts }) => attempts >= 1,
    });
    await schedule(kind, 'a');
    await runTasks(kind);
    await makeDue();
    await runTasks(kind);
    expect((await read(kind))[0]).to.include({ run_at: null, lease: null, attempts: 2, last_error: 'never' });
    await runTasks(kind);
    expect(runs).to.have.length(2);
    isBroken = false;
    await schedule(kind, 'a');
    await runTasks(kind);
    expect(await read(kind)).to.deep.equal([]);
  });

  it('of a batch that fails are run one by one, so that one does not block the others', async () => {
    const { kind, runs } = define(async ({ key }) => (key === 'bad' ? Promise.reject(new Error('bad')) : undefined), {
      batchSize: 10,
    });
    await schedule(kind, 'a', 'bad', 'c');
    await runTasks(kind);
    expect(runs[0]).to.deep.equal(['a', 'bad', 'c']);
    expect(runs.slice(1).flat().toSorted()).to.deep.equal(['a', 'bad', 'c']);
    expect((await read(kind)).map(({ key, last_error: error }) => [key, error])).to.deep.equal([['bad', 'bad']]);
  });

  it('run as many at a time as their kind allows, and each once', async () => {
    let running = 0;
    let most = 0;
    const { kind, runs } = define(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await setTimeout(5);
        running -= 1;
      },
      { concurrency: 3 },
    );
    const keys = Array.from({ length: 20 }, (_, index) => `task ${index}`);
    await schedule(kind, ...keys);
    await Promise.all([runTasks(kind), runTasks(kind)]);
    expect(most).to.equal(3);
    expect(runs.flat().toSorted()).to.deep.equal(keys.toSorted());
  });

  it('that are scheduled again during a run are run again', async () => {
    const { kind, runs } = define(async () => {
      if (runs.length === 1)
        await db.transaction((transaction) => rescheduleTasks(transaction, kind.name, [{ key: 'a', accountId: null }]));
    });
    await schedule(kind, 'a');
    await runTasks(kind);
    expect(runs).to.have.length(2);
    expect(await read(kind)).to.deep.equal([]);
  });

  it('of a process that died are found by the sweep once their lease is over', async () => {
    const { kind, runs } = define();
    await schedule(kind, 'a');
    await service.sql(`UPDATE tasks SET lease = gen_random_uuid(), run_at = now() + interval '1 minute'`);
    await sweepTasks([kind]);
    await waitForInFlight();
    expect(runs).to.deep.equal([]);
    await makeDue();
    await sweepTasks([kind]);
    await waitForInFlight();
    expect([runs, await read(kind)]).to.deep.equal([[['a']], []]);
  });

  it('keep their lease during a run that takes longer than it', async () => {
    const { kind } = define(() => setTimeout(16_000));
    await schedule(kind, 'a');
    const run = runTasks(kind);
    await setTimeout(15_500);
    const [task] = await read(kind);
    expect(task.run_at.getTime()).to.be.above(service.now.getTime());
    await run;
    expect(await read(kind)).to.deep.equal([]);
  }).timeout(40_000);

  it('are not completed by a run whose lease was taken over', async () => {
    const { kind } = define(async () => {
      await service.sql(`UPDATE tasks SET lease = gen_random_uuid(), run_at = now() + interval '1 minute'`);
    });
    await schedule(kind, 'a');
    await runTasks(kind);
    expect(await read(kind)).to.have.length(1);
  });
});

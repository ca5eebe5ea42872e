import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { listChildPids, readProcessMemory } from '../../dev/local/procfs.ts';
import { waitUntil } from '../../dev/local/servers/processes.ts';

describe('readProcessMemory', () => {
  it('returns the current and the peak resident memory in kilobytes', () => {
    const memory = readProcessMemory(process.pid);
    expect(memory?.residentKb).to.be.above(10_000);
    expect(memory?.peakKb).to.be.at.least(memory?.residentKb as number);
  });

  it('returns null for a process that has ended while its parent has not collected its status', async () => {
    // The second sleep replaces the shell, and does not know that it has a child.
    const parent = spawn('sh', ['-c', 'sleep 0.1 & exec sleep 60']);
    const pid = parent.pid as number;
    try {
      await waitUntil(() => listChildPids(pid).length === 1, 10_000);
      const [child] = listChildPids(pid) as [number];
      expect(await waitUntil(() => readProcessMemory(child) === null, 10_000)).to.equal(true);
      expect(listChildPids(pid)).to.deep.equal([child]);
    } finally {
      parent.kill();
    }
  });
});

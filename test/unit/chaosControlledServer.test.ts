import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { controlServer } from '../../dev/chaos/controlledServer.ts';
import { listChildPids } from '../../dev/local/procfs.ts';
import { isAlive, waitUntil } from '../../dev/local/servers/processes.ts';

const CHILDREN = 30;

describe('a server that a chaos run controls', () => {
  it('is started again once all processes of the killed one have ended', async () => {
    const loop = `i=0; while [ $i -lt ${CHILDREN} ]; do sleep 100 & i=$((i+1)); done; wait`;
    const { pid = 0 } = spawn('sh', ['-c', loop], { stdio: 'ignore' });
    await waitUntil(() => listChildPids(pid).length === CHILDREN, 10_000);
    const server = {
      name: 'postgres' as const,
      version: '1',
      url: 'tcp://127.0.0.1:1',
      port: 1,
      source: 'test',
      stop: async () => {},
    };
    let left: number[] | undefined;
    const controlled = controlServer({ ...server, pid }, async () => {
      left = pids.filter(isAlive);
      return { ...server, pid: null };
    });
    const pids = controlled.pids();
    expect(pids).to.have.length(1 + CHILDREN);
    await controlled.killAndRestart();
    expect(left).to.deep.equal([]);
    expect(controlled.pids()).to.deep.equal([]);
  });
});

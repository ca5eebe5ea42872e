import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { OFFLINE } from '../harness/offline.ts';

describe('npm run conformance', () => {
  it('finds no unexpected result of the official MCP suite, in either version of the protocol', async function () {
    this.timeout(300_000);
    const args = ['--import', 'tsx', 'dev/conformance/main.ts', '--built'];
    const { status, out, err } = await runProgram({ args, env: process.env });
    if (status !== 0 && err.includes('The suite did not run') && OFFLINE.test(err)) {
      const reason = 'the official suite comes from the npm registry, which cannot be reached';
      appendRunEvent({ kind: 'skip', file: this.test?.file ?? '', reason });
      this.skip();
    }
    expect(out, err).to.match(/Nothing unexpected\.\s*$/);
    expect(out.match(/^MCP \S+: /gm)).to.have.length(2);
  });
});

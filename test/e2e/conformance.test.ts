import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { appendRunEvent } from '../harness/runEvents.ts';

const run = promisify(execFile);
/** Errors of npx without access to the registry that the suite comes from. */
const OFFLINE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED|ECONNRESET)\b/;

interface Ended {
  code?: number;
  stdout: string;
  stderr: string;
}

describe('npm run conformance', () => {
  it('finds no unexpected result of the official MCP suite, in either version of the protocol', async function () {
    this.timeout(240_000);
    const args = ['--import', 'tsx', 'dev/conformance/main.ts', '--built'];
    const ended = await run(process.execPath, args).catch((error: Ended) => error);
    if ('code' in ended && ended.stderr.includes('The suite did not run') && OFFLINE.test(ended.stderr)) {
      const reason = 'the official suite comes from the npm registry, which cannot be reached';
      appendRunEvent({ kind: 'skip', file: this.test?.file ?? '', reason });
      this.skip();
    }
    expect(ended.stdout, ended.stderr).to.match(/Nothing unexpected\.\s*$/);
    expect(ended.stdout.match(/^MCP \S+: /gm)).to.have.length(2);
  });
});

import { join } from 'node:path';
import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { createDatabase, requireTestEnv } from '../harness/databases.ts';
import { bundleModules } from '../harness/moduleBundle.ts';
import { allocatePort } from '../harness/ports.ts';

const MODULES = ['shared/lib/config.ts', 'shared/service.ts', 'api/server.ts', 'worker/worker.ts'];

/** Opens, uses and closes a service with API and worker repeatedly. Then no open handle should remain. */
const SCRIPT = `
  async function main(bundle, times) {
    const [{ parseConfig }, { openService }, { startApi }, { startWorker }] =
      Object.values(require(bundle)).map((importModule) => importModule());
    for (let count = 0; count < Number(times); count += 1) {
      const service = await openService(parseConfig(process.env), { log: { write: () => {} } });
      const second = await openService(parseConfig(process.env)).catch((error) => error.message);
      if (!second.includes('open in this process already')) throw new Error(second);
      const api = await startApi();
      const worker = await startWorker();
      const response = await fetch('http://127.0.0.1:' + api.port + '/api/models/');
      console.log((await response.json()).data.map(({ status }) => status).join());
      await worker.close();
      await api.close();
      await service.close();
    }
    console.log('closed');
  }
  void main(...process.argv.slice(1));`;

describe('a service', () => {
  it('can be opened and closed twice in one process without leaving an open handle', async () => {
    const port = await allocatePort();
    const bundle = await bundleModules(join(requireTestEnv('TEST_FOLDER'), 'service'), MODULES);
    const { status, out, err } = await runProgram({
      args: ['-e', SCRIPT, bundle, '2'],
      env: {
        TMPDIR: process.env['TMPDIR'],
        NODE_ENV: 'test',
        DATABASE_URL: await createDatabase(),
        REDIS_URL: requireTestEnv('TEST_REDIS_URL'),
        REDIS_PREFIX: `test-service-${process.pid}`,
        MEDIA_DIR: `${requireTestEnv('TEST_FOLDER')}/media-service`,
        PORT: String(port),
        HOST: '127.0.0.1',
        FAL_KEY: 'test',
        FAL_BASE_URL: 'http://127.0.0.1:1',
      },
    });
    expect(out + err).to.match(/^((degraded|offline),(degraded|offline)\n){2}closed\n$/);
    expect(status).to.equal(0);
  });
});

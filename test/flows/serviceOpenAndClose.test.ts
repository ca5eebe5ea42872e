import { expect } from 'chai';
import { runProgram } from '../../dev/local/environment/program.ts';
import { createDatabase, requireTestEnv } from '../harness/databases.ts';
import { allocatePort } from '../harness/ports.ts';

/** Opens, uses and closes a service with API and worker repeatedly. Then no open handle should remain. */
const SCRIPT = `
  const { parseConfig } = await import('./shared/lib/config.ts');
  const { openService } = await import('./shared/service.ts');
  const { startApi } = await import('./api/server.ts');
  const { startWorker } = await import('./worker/worker.ts');
  for (let count = 0; count < Number(process.argv[1]); count += 1) {
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
  console.log('closed');`;

describe('a service', () => {
  it('can be opened and closed twice in one process without leaving an open handle', async () => {
    const port = await allocatePort();
    const { status, out, err } = await runProgram({
      args: ['--import', 'tsx', '--input-type=module', '-e', SCRIPT, '2'],
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

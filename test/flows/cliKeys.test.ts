import { expect } from 'chai';
import { TestTerminal } from '../harness/cliTerminal.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';

const FLAGS = ['--scopes', 'svc:read,svc:write', '--expires', '2099-01-01', '--limit', '500/month'];
const PLACES = ['--models', 'imgmodel-2, vidmodel-video', '--ips', '192.0.2.0/24,127.0.0.1'];
const OPTIONS = {
  scopes: ['svc:read', 'svc:write'],
  expires_at: '2099-01-01T00:00:00.000Z',
  credit_limit: { credits: 500, period: 'month' },
  allowed_models: ['imgmodel-2', 'vidmodel-video'],
  allowed_ips: ['192.0.2.0/24', '127.0.0.1'],
};

describe('genmeter keys', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer();
  });

  const run = (...args: string[]) =>
    new TestTerminal({ GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key }).run('keys', ...args);
  const runJson = async (...args: string[]): Promise<any> => {
    const { status, stdout, stderr } = await run(...args, '--json');
    expect([status, stderr], args.join(' ')).to.deep.equal([0, '']);
    return JSON.parse(stdout);
  };

  it('creates a key with options, changes them, and removes each with the value none', async () => {
    const { uuid, ...created } = await runJson('create', 'nightly job', ...FLAGS, ...PLACES);
    expect(created).to.deep.include(OPTIONS);
    const changed = await runJson('update', uuid, '--name', 'weekly job', '--limit', '7/total');
    expect(changed).to.deep.include({
      ...OPTIONS,
      name: 'weekly job',
      credit_limit: { credits: 7, period: 'total' },
    });
    for (const [flag, field] of [
      ['--scopes', 'scopes'],
      ['--expires', 'expires_at'],
      ['--limit', 'credit_limit'],
      ['--models', 'allowed_models'],
      ['--ips', 'allowed_ips'],
    ] as const) {
      expect(await runJson('update', uuid, flag, 'none')).to.not.have.property(field);
    }
    const listed = (await runJson('list')).find((key: { uuid: string }) => key.uuid === uuid);
    expect(listed).to.include({ name: 'weekly job', revoked: false });
    expect(listed).to.not.have.any.keys(...Object.keys(OPTIONS));
  });

  it('ends with status 2 for a limit that cannot be read, and with the error of the service for other values', async () => {
    for (const limit of ['5', '0/day', '5/week', '-1/day', '1.5/day']) {
      expect((await run('create', 'x', '--limit', limit)).status, limit).to.equal(2);
    }
    for (const [flag, value] of [
      ['--scopes', 'svc:admin'],
      ['--expires', 'tomorrow'],
      ['--models', 'unknown'],
      ['--ips', 'example.com'],
    ] as const) {
      const { status, stderr } = await run('create', 'x', flag, value, '--json');
      expect([status, JSON.parse(stderr).error], flag).to.deep.equal([1, 'validation_error']);
    }
  });
});

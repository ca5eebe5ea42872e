import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { modelsOnline } from '../contract/seeds.ts';
import type { Customer } from '../harness/client.ts';
import { eventually, type Service, startService } from '../harness/service.ts';

interface Ended {
  status: number | null;
  out: string;
  err: string;
}

/** Runs a command as a deployment does, from what was built. */
async function runAdmin(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, ['dist/worker/admin/main.js', ...args], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'test', ...env },
  });
  const ended: Ended = { status: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (ended.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (ended.err += chunk.toString()));
  [ended.status] = (await once(child, 'close')) as [number | null];
  return ended;
}

const LONG_AGO = `interval '5 minutes'`;

describe('npm run admin', () => {
  let service: Service;
  let customer: Customer;
  before(async () => {
    service = await startService({ workers: 0 });
    await modelsOnline(service);
    customer = await service.customer('pro');
  });
  after(() => service.stop());

  const admin = (...args: string[]) => runAdmin(args, service.env);
  const grant = (request: string, ...more: string[]) =>
    admin('grant-credits', customer.email, '250', '--request', request, '--note', 'the outage of May', ...more);
  /** A generation that was asked for long ago, and nobody came. */
  const stuckImage = async () => {
    const { uuid } = await customer.createImage();
    await service.sql(
      `UPDATE generations SET created_at = created_at - ${LONG_AGO}, due_at = now() + interval '1 hour' WHERE uuid = $1`,
      [uuid],
    );
    return uuid as string;
  };

  it('explains itself and each command without any configuration', async () => {
    const { status, out } = await runAdmin(['--help']);
    expect(status).to.equal(0);
    const names = [...out.matchAll(/^ {2}([a-z-]+) {2}/gm)].map(([, name]) => name as string);
    expect(names).to.deep.equal(['find-account', 'grant-credits', 'stuck-jobs', 'requeue-jobs', 'revoke-key']);
    const explained = await Promise.all(names.map((name) => runAdmin([name, '--help'])));
    for (const [index, { status, out, err }] of explained.entries()) {
      expect([status, err]).to.deep.equal([0, '']);
      expect(out).to.include(`npm run admin -- ${names[index]}`);
    }
    expect((await runAdmin(['find-account', 'a@example.com'])).status).to.equal(78);
  });

  it('ends with 2 and says how it is called where it is called wrongly', async () => {
    const calls = [
      [],
      ['burn-everything'],
      ['constructor'],
      ['find-account'],
      ['grant-credits', 'a@example.com', '250'],
      ['grant-credits', 'a@example.com', '-5', '--request', 'a'],
      ['grant-credits', 'a@example.com', '2.5', '--request', 'a'],
      ['grant-credits', 'a@example.com', '250', '--request', 'a', '--apply', '--dry-run'],
      ['grant-credits', 'a@example.com', '250', '--request', 'a', '--forse'],
      ['requeue-jobs'],
      ['stuck-jobs', '--quiet', 'soon'],
    ];
    const ended = await Promise.all(calls.map((call) => admin(...call)));
    expect(ended.map(({ status }) => status)).to.deep.equal(calls.map(() => 2));
    for (const { out, err } of ended) expect(out + err).to.include('npm run admin --');
  });

  describe('find-account', () => {
    it('finds an account by e-mail address and number, with credits, keys and ledger', async () => {
      const [row] = await service.sql('SELECT id, uuid FROM accounts WHERE email = $1', [customer.email]);
      const names = [customer.email.toUpperCase(), String(row.id)];
      for (const { status, out } of await Promise.all(names.map((name) => admin('find-account', name)))) {
        expect(status).to.equal(0);
        expect(out).to.include(customer.email).and.to.include(row.uuid).and.to.include('pro, active');
        expect(out).to.include(customer.key.slice(0, 12)).and.to.include('Monthly credits: Pro plan');
        expect(out).to.not.include(customer.key);
      }
    });

    it('ends with 1 and a sentence where there is none', async () => {
      const { status, out, err } = await admin('find-account', 'nobody@example.com');
      expect([status, out]).to.deep.equal([1, '']);
      expect(err).to.match(/^There is no account nobody@example\.com: .*\.\n$/);
    });
  });

  describe('grant-credits', () => {
    it('changes nothing until it is told to, and then grants once for each request, under a description of its own', async () => {
      const balance = await customer.balance();
      const tried = await grant('T-1');
      expect(tried.status).to.equal(0);
      expect(tried.out)
        .to.include(`${balance} -> ${balance + 250}`)
        .and.to.include('Nothing was changed');
      expect((await grant('T-1', '--dry-run')).out).to.include('Nothing was changed');
      expect(await customer.balance()).to.equal(balance);

      const ended = await Promise.all([1, 2, 3, 4].map(() => grant('T-1', '--apply')));
      expect(ended.map(({ status }) => status)).to.deep.equal([0, 0, 0, 0]);
      expect(ended.filter(({ out }) => out.includes('nothing was changed')).length).to.equal(3);
      expect(ended.filter(({ out }) => out.includes('"goodwill credits granted"')).length).to.equal(1);
      expect(await customer.balance()).to.equal(balance + 250);
      expect((await grant('T-1')).out).to.include('nothing would change');

      const { body } = await customer.call('GET', '/api/ledger/');
      const { entry_type, amount, description } = body.data[0];
      expect([entry_type, amount, description]).to.deep.equal(['grant', 250, 'Goodwill credits: the outage of May']);
      const [{ topup_credits }] = await service.sql('SELECT topup_credits FROM accounts WHERE email = $1', [
        customer.email,
      ]);
      expect(topup_credits).to.equal(250);
      await service.checkBooks();
    });

    it('refuses a request that has given something else before', async () => {
      const other = await service.customer(null);
      const options = ['--request', 'T-2', '--apply'];
      expect((await admin('grant-credits', customer.email, '10', ...options)).status).to.equal(0);
      for (const call of [
        [customer.email, '11', ...options],
        [other.email, '10', ...options],
        [other.email, '10', '--request', 'T-2'],
      ]) {
        const { status, err } = await admin('grant-credits', ...call);
        expect(status).to.equal(1);
        expect(err).to.include('T-2').and.to.include('something else');
      }
      expect(await other.balance()).to.equal(0);
    });
  });

  describe('stuck-jobs and requeue-jobs', () => {
    it('list what nothing happens to, and leave alone what is new, in hand, or looked at', async () => {
      const [stuck, fresh, held, looked] = [
        await stuckImage(),
        (await customer.createImage()).uuid,
        await stuckImage(),
        await stuckImage(),
      ];
      await service.sql(`UPDATE generations SET leased_until = now() + ${LONG_AGO} WHERE uuid = $1`, [held]);
      await service.sql('UPDATE generations SET polled_at = now() WHERE uuid = $1', [looked]);
      const { status, out } = await admin('stuck-jobs');
      expect(status).to.equal(0);
      expect(out).to.include(stuck).and.to.include('not submitted');
      for (const uuid of [fresh, held, looked]) expect(out).to.not.include(uuid);
      expect((await admin('stuck-jobs', '--quiet', '0')).out).to.include(fresh);

      const forced = await admin('requeue-jobs', stuck, held, randomUUID(), '--apply');
      expect(forced.status).to.equal(0);
      expect(forced.out).to.include(`${stuck} is on its queue again.`).and.to.include(`${held} is left alone`);
      await service.sql(
        `WITH over AS (SELECT uuid FROM generations WHERE status = 'queued')
         UPDATE generations SET leased_until = NULL, deadline_at = now() WHERE uuid IN (SELECT uuid FROM over)`,
      );
      // A worker fails and refunds what is past its deadline, and ends.
      const worker = await service.startWorker();
      await eventually('slots are free', async () => {
        const [row] = await service.sql('SELECT in_flight FROM accounts WHERE email = $1', [customer.email]);
        return row.in_flight === 0;
      });
      await worker.stop();
    });

    it('change nothing until told to; then a worker takes the job, which ends, charged once', async () => {
      const uuid = await stuckImage();
      const tried = await admin('requeue-jobs', '--all');
      expect(tried.out).to.include(uuid).and.to.include('Nothing was changed');
      const [{ due_at: before }] = await service.sql('SELECT due_at FROM generations WHERE uuid = $1', [uuid]);
      expect(before.getTime()).to.be.above(Date.now());
      const { status, out } = await admin('requeue-jobs', '--all', '--apply');
      expect(status).to.equal(0);
      expect(out).to.include(`${uuid} is on its queue again.`);
      const worker = await service.startWorker();
      expect((await customer.settled(uuid)).status).to.equal('succeeded');
      await worker.stop();
      expect(service.upstream.submits).to.equal(1);
      await service.checkBooks();
      expect((await admin('requeue-jobs', uuid, '--apply')).out).to.include('is left alone');
    });
  });

  describe('revoke-key', () => {
    it('changes nothing until told to, and then revokes at once, by first characters, uuid or the key itself', async () => {
      const owner = await service.customer(null);
      const prefix = owner.key.slice(0, 12);
      const tried = await admin('revoke-key', prefix);
      expect(tried.status).to.equal(0);
      expect(tried.out)
        .to.include(owner.email)
        .and.to.include('would be revoked')
        .and.to.include('Nothing was changed');
      expect((await owner.call('GET', '/api/keys/')).status).to.equal(200);

      const done = await admin('revoke-key', prefix, '--apply');
      expect(done.out).to.include('is revoked.').and.to.include('key revoked by the staff');
      expect((await owner.call('GET', '/api/keys/')).status).to.equal(401);
      const again = await admin('revoke-key', owner.key, '--apply');
      expect(again.status).to.equal(0);
      expect(again.out).to.include('nothing was changed').and.to.not.include(owner.key);
    });

    it('names those that begin alike, and does not repeat a key that is not there', async () => {
      const owner = await service.customer(null);
      const second = (await owner.browse('POST', '/api/keys/create/', { body: { name: 'second' } })).body;
      await service.sql('UPDATE api_keys SET prefix = $2 WHERE uuid = $1', [second.uuid, owner.key.slice(0, 12)]);
      const { status, out, err } = await admin('revoke-key', owner.key.slice(0, 12), '--apply');
      expect(status).to.equal(1);
      expect(out).to.include(second.uuid);
      expect(err).to.include('by its uuid');
      expect((await admin('revoke-key', second.uuid, '--apply')).out).to.include('is revoked.');
      const missing = `svc_${'0'.repeat(40)}`;
      const unknown = await admin('revoke-key', missing, '--apply');
      expect(unknown.status).to.equal(1);
      expect(unknown.err).to.not.include(missing);
    });
  });
});

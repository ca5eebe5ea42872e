import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type RunningServer, startPostgres } from '../../dev/local/servers/postgres.ts';
import { createCertificates } from '../harness/certificates.ts';
import { requireTestEnv, runRelease } from '../harness/databases.ts';

describe('a Postgres whose certificate a private authority has signed', () => {
  let folder: string;
  let postgres: RunningServer;
  before(async function () {
    this.timeout(120_000);
    folder = join(requireTestEnv('TEST_FOLDER'), 'tls');
    mkdirSync(folder, { recursive: true });
    createCertificates(folder);
    const dataDir = join(folder, 'postgres');
    await (await startPostgres({ dataDir, settings: { fsync: 'off' } })).stop();
    // Postgres requires that its account owns the key.
    const { uid, gid } = statSync(join(dataDir, 'cluster'));
    for (const file of ['server.key', 'server.crt']) chownSync(join(folder, file), uid, gid);
    // The harness itself connects without TLS, as the owner of the databases.
    writeFileSync(
      join(dataDir, 'cluster/pg_hba.conf'),
      'hostssl all all all trust\nhostnossl postgres all all trust\n',
    );
    postgres = await startPostgres({
      dataDir,
      settings: {
        fsync: 'off',
        ssl: 'on',
        ssl_cert_file: join(folder, 'server.crt'),
        ssl_key_file: join(folder, 'server.key'),
      },
    });
  });
  after(() => postgres.stop());

  const release = (host: string, parameters: string) =>
    runRelease(`postgres://app@${host}:${postgres.port}/genmeter${parameters}`);

  it('is used with sslmode=verify-full and sslrootcert, and with no other verified address', async () => {
    const verified = await release('127.0.0.1', `?sslmode=verify-full&sslrootcert=${join(folder, 'ca.crt')}`);
    expect(verified.status, verified.output).to.equal(0);
    const [unverified, otherName, plain] = await Promise.all([
      release('127.0.0.1', '?sslmode=verify-full'),
      release('localhost', `?sslmode=verify-full&sslrootcert=${join(folder, 'ca.crt')}`),
      release('127.0.0.1', '?sslmode=disable'),
    ]);
    expect(unverified.output).to.match(/unable to (verify|get local issuer)|self-signed certificate/);
    expect(otherName.output).to.include("does not match certificate's altnames");
    expect(plain.output).to.include('no pg_hba.conf entry');
    expect([unverified, otherName, plain].map(({ status }) => status)).to.deep.equal([1, 1, 1]);
  }).timeout(120_000);
});

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Creates an authority (`ca.crt`, `ca.key`) and a certificate of it (`server.crt`, `server.key`).
 * @param names what the certificate is for, as `subjectAltName` expects it.
 */
export function createCertificates(folder: string, names = ['IP:127.0.0.1']): void {
  const run = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  run(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '30',
    '-subj',
    '/CN=Test CA',
  );
  run('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=server');
  writeFileSync(join(folder, 'names.cnf'), `subjectAltName=${names.join(',')}\n`);
  run(
    'x509',
    '-req',
    '-in',
    'server.csr',
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '30',
    '-extfile',
    'names.cnf',
    '-out',
    'server.crt',
  );
}

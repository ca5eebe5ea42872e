import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './sources.ts';

const SETTINGS = 'shared/lib/configVariables.ts';

/** Returns whether a range such as `^18 || >=20.19` includes Node 20.19. */
function acceptsNode20(range: string): boolean {
  return range.split('||').some((part) => {
    const [, operator = '', major = '0', minor = '0'] = /^\s*v?(\D*?)\s*v?(\d+)(?:\.(\d+))?/.exec(part) ?? [];
    const isReached = Number(major) < 20 || (Number(major) === 20 && Number(minor) <= 19);
    return operator === '>=' || operator === '>' || !/\d/.test(part) ? isReached : major === '20' && isReached;
  });
}

describe('the files of a deployment', () => {
  it('the Procfile starts built programs, each with a memory limit', () => {
    const lines = readFileSync(join(ROOT, 'Procfile'), 'utf8').trim().split('\n');
    expect(lines.map((line) => line.split(':')[0])).to.deep.equal(['release', 'web', 'worker', 'testupstream']);
    for (const line of lines) {
      const main = /dist\/(\S+)\.js$/.exec(line)?.[1];
      expect(existsSync(join(ROOT, `${main}.ts`)), line).to.equal(true);
      if (!line.startsWith('release')) expect(line).to.match(/--max-old-space-size=\d+/);
    }
  });

  it('the API and the worker have health checks, which compose.yaml defines and the image does not', () => {
    expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).to.not.match(/^HEALTHCHECK/m);
    const services = readFileSync(join(ROOT, 'compose.yaml'), 'utf8').split(/^services:$/m)[1] ?? '';
    const checks = services.split(/^ {2}(?=\w+:$)/m).flatMap((text) => {
      const [, path] = /test: .*fetch\('http:\/\/127\.0\.0\.1:.*?(\/[\w/]+)'\)/.exec(text) ?? [];
      return path === undefined ? [] : [[text.split(':')[0], path]];
    });
    expect(checks).to.deep.equal([
      ['api', '/api/health/'],
      ['worker', '/health'],
    ]);
  });

  it('app.json lists every Stripe setting, and only settings that exist', () => {
    const env = Object.keys(JSON.parse(readFileSync(join(ROOT, 'app.json'), 'utf8')).env as object);
    const config = readFileSync(join(ROOT, SETTINGS), 'utf8');
    const settings = [...config.matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name = '']) => name);
    expect(env.filter((name) => !settings.includes(name) && name !== 'PGSSLMODE')).to.deep.equal([]);
    const ofStripe = settings.filter((name) => name.startsWith('STRIPE_') && name !== 'STRIPE_API_BASE');
    expect(ofStripe).to.include('STRIPE_CONNECT_WEBHOOK_SECRET');
    expect(env).to.include.members(ofStripe);
  });

  it('every package of the lockfile accepts the oldest Node that this project supports', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { engines?: { node?: string }; optional?: boolean }>;
    };
    // js-redis-server and lua-redis-wasm declare Node 22 and run on 20.19 (`e2e/redisFallback` tests it). Their
    // entries are relaxed by hand, since npm has no other way to accept them without a warning.
    const refused = Object.entries(packages)
      .filter(([, { engines, optional }]) => optional !== true && !acceptsNode20(engines?.node ?? '*'))
      .map(([name]) => name);
    expect(refused).to.deep.equal([]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findImports, isUnder, packages, ROOT, sources, tools } from './sources.ts';

/** Layers of `shared`: each imports only itself and those before it. */
const LAYERS = ['spec', 'lib', 'queues', 'tables', 'gateways', 'presenters', 'domain'];

/** Scripts that the service only sends: to browsers, and as samples. */
const BROWSER_SCRIPT = /^api\/(?:web\/scripts\/|mcp\/apps\/page\/|web\/components\/requestSamples\.tsx)/;

/** Uses of bytes from outside, and the modules that may have them: docs/security.md names the bounds. */
const BOUNDED_USES: [string, RegExp, string[]][] = [
  [
    'send HTTP requests',
    /import (?:type )?\{[^}]*\b(?:request|get|fetch|stream|connect)\b[^}]*\} from '(?:undici|node:https?|node:http2)'/,
    ['shared/gateways/httpClient.ts'],
  ],
  ['call fetch', /(?<![.\w])fetch\(/, ['shared/gateways/identity/boundedFetch.ts']],
  ['read JSON of a response', /\.json\(\)/, ['shared/gateways/identity/github.ts']],
  [
    'open clients of libraries',
    /new Stripe\(|S3Client\(|createTransport\(|OTLPTraceExporter\(|createRemoteJWKSet\(|\.discovery\(/,
    [
      'shared/gateways/identity/openIdConnect.ts',
      'shared/gateways/mail/mailTransport.ts',
      'shared/gateways/media/s3Connection.ts',
      'shared/gateways/payments/stripeClient.ts',
      'shared/lib/tracingSdk.ts',
    ],
  ],
  [
    'parse JSON',
    /\bJSON\.parse\b/,
    [
      'shared/lib/boundedJson.ts',
      // Values that the service wrote, and its configuration.
      'api/mcp/transport/session.ts',
      'shared/domain/signIn/identityUndo.ts',
      'shared/domain/oauth/accessTokens.ts',
      'shared/domain/platform/idempotentRequests.ts',
      'shared/lib/configJson.ts',
      'shared/lib/localService.ts',
    ],
  ],
  ['decode images', /from 'sharp'/, ['shared/gateways/media/thumbnailProcess.ts']],
  ['unpack', /from 'node:zlib'/, ['shared/gateways/httpClient.ts']],
  [
    'start programs',
    /from 'node:child_process'/,
    ['shared/gateways/media/thumbnail.ts', 'shared/gateways/media/videoFrame.ts'],
  ],
];

describe('the direction of imports', () => {
  it('finds the imports that it checks', () => {
    expect(findImports(isUnder('api'), isUnder('shared')).length).to.be.above(20);
    expect(findImports(isUnder('shared'), isUnder('shared')).length).to.be.above(50);
  });

  it('api and worker never import each other, and nothing shared imports them', () => {
    expect(findImports(isUnder('api'), isUnder('worker', 'migrations'))).to.deep.equal([]);
    expect(findImports(isUnder('worker'), isUnder('api', 'migrations'))).to.deep.equal([]);
    expect(findImports(isUnder('shared', 'migrations'), isUnder('api', 'worker'))).to.deep.equal([]);
    expect(findImports(isUnder('shared'), isUnder('migrations'))).to.deep.equal([]);
  });

  it('nothing that is deployed imports dev or test', () => {
    expect(findImports(() => true, isUnder('dev', 'test'))).to.deep.equal([]);
  });

  it('nothing that is deployed imports the packages, and they import no code of the service', () => {
    expect(findImports(() => true, isUnder('packages'))).to.deep.equal([]);
    const allowed: [string, RegExp][] = [
      ['packages/client/src', /^packages\/client\/src\//],
      ['packages/client/codegen', /^openapi-typescript$/],
      ['packages/cli/src', /^(?:packages\/cli\/src\/|@genmeter\/client$|commander$|node:)/],
    ];
    const forbidden = packages.flatMap(({ path, imports }) => {
      const rule = allowed.find(([folder]) => isUnder(folder)(path))?.[1];
      return imports.filter((name) => rule?.test(name) !== true).map((name) => `${path} -> ${name}`);
    });
    expect(packages.length).to.be.above(20);
    expect(forbidden).to.deep.equal([]);
  });

  for (const [index, layer] of LAYERS.entries()) {
    it(`shared/${layer} imports only ${['itself', ...LAYERS.slice(0, index)].join(', ')}`, () => {
      const later = LAYERS.slice(index + 1).map((name) => `shared/${name}`);
      expect(findImports(isUnder(`shared/${layer}`), isUnder(...later))).to.deep.equal([]);
    });
  }

  it('shared contains exactly the documented layers', () => {
    const layers = readdirSync(join(ROOT, 'shared'), { withFileTypes: true });
    // `service.ts` opens and closes the modules of these layers.
    expect(layers.map(({ name }) => name)).to.have.members([...LAYERS, 'service.ts']);
  });

  for (const [use, pattern, modules] of BOUNDED_USES) {
    it(`only the modules of docs/security.md ${use}`, () => {
      const users = sources.filter(({ path, text }) => !BROWSER_SCRIPT.test(path) && pattern.test(text));
      expect(users.map(({ path }) => path)).to.have.members(modules);
      const documents = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
      for (const path of modules) expect(documents).to.include(`\`${path.replace(/^shared\//, '')}\``);
    });
  }

  it('there are no import cycles', () => {
    const importsOf = new Map([...sources, ...tools, ...packages].map(({ path, imports }) => [path, imports]));
    const cycles = new Set<string>();
    const cleared = new Set<string>();
    const walk = (path: string, trail: string[]) => {
      if (trail.includes(path)) cycles.add([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      if (trail.includes(path) || cleared.has(path)) return;
      for (const imported of importsOf.get(path) ?? []) walk(imported, [...trail, path]);
      cleared.add(path);
    };
    for (const path of importsOf.keys()) walk(path, []);
    expect([...cycles]).to.deep.equal([]);
  });
});

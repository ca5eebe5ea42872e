import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { parseConfig } from '../../shared/lib/config.ts';
import { getConfigError, GOOD } from '../harness/configErrors.ts';
import { PRODUCTION_ENV } from '../harness/testConfig.ts';

function pem(type: 'ec' | 'ed25519'): string {
  const { privateKey } = type === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync(type);
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

describe('the configuration for sign-in', () => {
  const apple = { APPLE_CLIENT_ID: 'a', APPLE_TEAM_ID: 'b', APPLE_KEY_ID: 'c' };

  it('requires all variables of a provider or none', () => {
    expect(getConfigError({ GOOGLE_CLIENT_ID: 'a' })).to.match(
      /^GOOGLE_CLIENT_SECRET is not set, but the other variables .+ Google .+\.$/,
    );
    expect(getConfigError({ GITHUB_CLIENT_SECRET: 'a' })).to.match(/^GITHUB_CLIENT_ID is not set/);
    expect(getConfigError({ APPLE_TEAM_ID: 'a' })).to.match(
      /^APPLE_CLIENT_ID, APPLE_KEY_ID, APPLE_PRIVATE_KEY are not set/,
    );
  });

  it("accepts Apple's key with escaped line breaks and rejects other kinds of keys", () => {
    const key = pem('ec');
    expect(
      parseConfig({ ...GOOD, ...apple, APPLE_PRIVATE_KEY: key.replaceAll('\n', '\\n') })['APPLE_PRIVATE_KEY'],
    ).to.equal(key);
    for (const bad of ['secret', pem('ed25519'), key.slice(0, 80)]) {
      const sentence = getConfigError({ ...apple, APPLE_PRIVATE_KEY: bad });
      expect(sentence).to.match(/^APPLE_PRIVATE_KEY must be /);
      expect(sentence).to.not.include(bad.slice(28, 60) || bad);
    }
  });

  it('rejects production without a sign-in provider, and providers without TLS in production', () => {
    const production = { ...PRODUCTION_ENV, GITHUB_CLIENT_ID: undefined, GITHUB_CLIENT_SECRET: undefined };
    const google = { GOOGLE_CLIENT_ID: 'a', GOOGLE_CLIENT_SECRET: 'b' };
    expect(getConfigError(production)).to.match(
      /^GOOGLE_CLIENT_ID, .+ are not set: NODE_ENV=production needs a sign-in provider\.$/,
    );
    expect(getConfigError({ ...production, ...google })).to.equal('');
    expect(getConfigError({ ...production, ...google, BASE_URL: 'http://a.example' })).to.match(
      /^BASE_URL must be the https/,
    );
    expect(getConfigError({ BASE_URL: 'http://a.example/sub' })).to.match(
      /^BASE_URL must be an address without a path/,
    );
    expect(getConfigError({ ...production, ...google, GOOGLE_ISSUER: 'http://id.example' })).to.match(
      /^GOOGLE_ISSUER must begin with https/,
    );
    expect(getConfigError({ ...google, GOOGLE_ISSUER: 'http://127.0.0.1:9' })).to.equal('');
  });
});

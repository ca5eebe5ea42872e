import { expect } from 'chai';
import { parseConfig } from '../../shared/lib/config.ts';
import { getConfigError, GOOD } from '../harness/configErrors.ts';

const MODERATION_URL = 'https://moderation.example.com/check?v=1';

describe('the configuration of content moderation', () => {
  it('is off by default, and rejects creates without a decision', () => {
    const config = parseConfig(GOOD);
    expect(config.MODERATION_URL).to.equal(undefined);
    expect(config).to.include({ MODERATION_TIMEOUT_MS: 3_000, MODERATION_ON_ERROR: 'reject' });
  });

  it('accepts https anywhere, and http on this machine', () => {
    for (const url of [MODERATION_URL, 'http://localhost:8080/', 'http://127.0.0.1:8080', 'http://[::1]:8080/check']) {
      expect(getConfigError({ MODERATION_URL: url, MODERATION_TOKEN: 'secret' }), url).to.equal('');
    }
  });

  it('rejects other addresses with one sentence that names the variable', () => {
    for (const url of [
      'http://moderation.example.com',
      'http://10.0.0.7:8080',
      'http://localhost.example.com',
      'https://user:password@moderation.example.com',
      'https://token@moderation.example.com',
      'https://',
      'ftp://moderation.example.com',
      'moderation.example.com',
    ]) {
      expect(getConfigError({ MODERATION_URL: url }), url).to.match(/^MODERATION_URL must [^\n]+\.$/);
    }
  });

  it('rejects a token without an address, or with characters that a header cannot carry', () => {
    expect(getConfigError({ MODERATION_TOKEN: 'secret' })).to.match(
      /^MODERATION_URL is not set, but MODERATION_TOKEN is: /,
    );
    for (const token of ['two words', 'line\nbreak', 'pässword']) {
      expect(getConfigError({ MODERATION_URL, MODERATION_TOKEN: token }), token).to.match(/^MODERATION_TOKEN must be /);
    }
  });

  it('rejects other policies, and time limits outside of 100 ms to 10 s', () => {
    expect(getConfigError({ MODERATION_URL, MODERATION_ON_ERROR: 'ignore' })).to.equal(
      'MODERATION_ON_ERROR must be one of reject, allow.',
    );
    for (const limit of ['0', '99', '10001', '1.5', 'soon']) {
      expect(getConfigError({ MODERATION_URL, MODERATION_TIMEOUT_MS: limit }), limit).to.match(
        /^MODERATION_TIMEOUT_MS must be a whole number from 100 to 10000\.$/,
      );
    }
  });
});

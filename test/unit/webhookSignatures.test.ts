import { createPublicKey, verify } from 'node:crypto';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { openSecret, sealSecret, UnreadableSecretError } from '../../shared/lib/encryption.ts';
import {
  generateSigningKeys,
  openEndpointSecret,
  openSigningKeys,
  parsePrivateKey,
  parseSecret,
  sealKeys,
  type SigningKey,
  type SigningKeys,
  signWebhook,
  type StoredKeys,
} from '../../shared/domain/webhooks/signingKeys.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const UUID = '01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69';
const OTHER_UUID = '01939b6e-61c0-7b2e-8a4c-52d0e7f91b33';
const SECRET_KEY = 'a secret of the tests'.replaceAll(' ', '-');
const BODY = '{"type":"webhook.test","data":{"text":"ü"}}';

/** Returns the columns of an endpoint with these keys, and optionally those before a rotation. */
function storeKeys(keys: SigningKeys, previous?: { keys: SigningKeys; until: Date }): StoredKeys {
  const former = previous === undefined ? undefined : sealKeys(UUID, previous.keys);
  return {
    uuid: UUID,
    ...sealKeys(UUID, keys),
    previous_secret: former?.secret ?? null,
    previous_private_key: former?.private_key ?? null,
    previous_until: previous?.until ?? null,
  };
}

const now = () => Math.floor(Date.now() / 1_000);

function buildHeaders(keys: readonly SigningKey[], timestamp = now()) {
  const id = `msg_${UUID}`;
  const signature = signWebhook(keys, { id, timestamp, body: BODY });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
}

const accepts = (secret: string, headers: Record<string, string>): boolean => {
  try {
    new Webhook(secret).verify(BODY, headers);
    return true;
  } catch {
    return false;
  }
};

/** Verifies the `v1a` signatures of a message with a public key, as a receiver does. */
function acceptsPublicKey(publicKey: string, headers: Record<string, string>): boolean {
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const content = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${BODY}`);
  return (headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((signature) => signature.startsWith('v1a,'))
    .some((signature) => verify(null, content, key, Buffer.from(signature.slice(4), 'base64')));
}

describe('webhook signatures', () => {
  beforeEach(() => setTestConfig({ SECRET_KEY }));

  it('keys have the forms of Standard Webhooks: whsec_, whsk_ and whpk_ with 32 bytes each, all different', () => {
    const seen = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const { secret, privateKey, publicKey } = generateSigningKeys();
      for (const [prefix, key] of [
        ['whsec_', secret],
        ['whsk_', privateKey],
        ['whpk_', publicKey],
      ] as const) {
        expect(key).to.match(new RegExp(`^${prefix}[A-Za-z0-9+/]{43}=$`));
        expect(Buffer.from(key.slice(prefix.length), 'base64')).to.have.lengthOf(32);
        seen.add(key);
      }
    }
    expect(seen.size).to.equal(60);
  });

  // From the tests of the reference libraries.
  const KNOWN = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' };

  it('a message has the signatures of the test vectors of Standard Webhooks', () => {
    const key: SigningKey = {
      hmacKey: parseSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
      privateKey: parsePrivateKey('whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk='),
      until: null,
    };
    expect(signWebhook([key], KNOWN).split(' ')).to.deep.equal([
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      'v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==',
    ]);
  });

  it('the keys before a rotation sign as well until their time, and then no longer', () => {
    const [keys, former] = [generateSigningKeys(), generateSigningKeys()];
    const until = new Date((now() + 60) * 1_000);
    const opened = openSigningKeys(storeKeys(keys, { keys: former, until }));
    const during = buildHeaders(opened);
    expect(during['webhook-signature'].split(' ').map((one) => one.split(',')[0])).to.deep.equal([
      'v1',
      'v1a',
      'v1',
      'v1a',
    ]);
    for (const one of [keys, former]) {
      expect(accepts(one.secret, during)).to.equal(true);
      expect(acceptsPublicKey(one.publicKey, during)).to.equal(true);
    }
    const after = buildHeaders(opened, now() + 60);
    expect([accepts(keys.secret, after), accepts(former.secret, after)]).to.deep.equal([true, false]);
    expect([acceptsPublicKey(keys.publicKey, after), acceptsPublicKey(former.publicKey, after)]).to.deep.equal([
      true,
      false,
    ]);
  });
});

describe('sealed webhook keys', () => {
  it('are encrypted with SECRET_KEY, differently each time, and can be opened again', () => {
    setTestConfig({ SECRET_KEY });
    const keys = generateSigningKeys();
    const [stored, again] = [storeKeys(keys), storeKeys(keys)];
    expect(JSON.stringify(stored)).to.not.include(keys.secret.slice(6)).and.not.include(keys.privateKey.slice(5));
    expect(stored.secret)
      .to.match(/^sealed:v1:/)
      .and.not.equal(again.secret);
    expect(openEndpointSecret(stored)).to.equal(keys.secret);
    expect(accepts(keys.secret, buildHeaders(openSigningKeys(stored)))).to.equal(true);
  });

  it('are stored plainly without SECRET_KEY, and remain readable once it is set', () => {
    setTestConfig();
    const keys = generateSigningKeys();
    const stored = storeKeys(keys);
    expect([stored.secret, stored.private_key]).to.deep.equal([keys.secret, keys.privateKey]);
    setTestConfig({ SECRET_KEY });
    expect(openEndpointSecret(stored)).to.equal(keys.secret);
  });

  it('cannot be opened after a change of SECRET_KEY, without it, in another row, or once they were changed', () => {
    setTestConfig({ SECRET_KEY });
    const stored = storeKeys(generateSigningKeys());
    const at = stored.secret.length - 6;
    const changed = stored.secret.slice(0, at) + (stored.secret[at] === 'A' ? 'B' : 'A') + stored.secret.slice(at + 1);
    for (const broken of [
      { ...stored, uuid: OTHER_UUID },
      { ...stored, secret: stored.private_key },
      { ...stored, secret: changed },
      { ...stored, secret: 'sealed:v1:' },
    ]) {
      expect(() => openSigningKeys(broken)).to.throw(UnreadableSecretError);
    }
    for (const env of [{ SECRET_KEY: 'another-secret-of-the-tests' }, {}] as Record<string, string>[]) {
      setTestConfig(env);
      expect(() => openSigningKeys(stored)).to.throw(UnreadableSecretError);
    }
  });

  it('before a rotation that cannot be opened any more do not prevent the current ones from signing', () => {
    setTestConfig({ SECRET_KEY: 'the-former-secret-of-the-tests' });
    const former = sealKeys(UUID, generateSigningKeys());
    setTestConfig({ SECRET_KEY });
    const keys = generateSigningKeys();
    const stored = {
      ...storeKeys(keys),
      previous_secret: former.secret,
      previous_private_key: former.private_key,
      previous_until: new Date(Date.now() + 60_000),
    };
    const headers = buildHeaders(openSigningKeys(stored));
    expect(headers['webhook-signature'].split(' ')).to.have.lengthOf(2);
    expect(accepts(keys.secret, headers)).to.equal(true);
  });

  it('open for the purpose that they were sealed for only', () => {
    setTestConfig({ SECRET_KEY });
    const sealed = sealSecret('text', 'one purpose');
    expect(openSecret(sealed, 'one purpose')).to.equal('text');
    expect(() => openSecret(sealed, 'another purpose')).to.throw(UnreadableSecretError);
  });
});

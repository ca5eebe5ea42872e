import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError } from '../../packages/client/src/index.ts';
import {
  generateSigningKeys,
  parsePrivateKey,
  parseSecret,
  type SigningKeys,
  signWebhook,
} from '../../shared/domain/webhooks/signingKeys.ts';

const BODY = JSON.stringify({ type: 'generation.succeeded', data: { prompt: 'a lighthouse – 灯台 🗼' } });
const HOUR_MS = 3_600_000;
const keys = generateSigningKeys();
const previous = generateSigningKeys();

const openKeys = ({ secret, privateKey }: SigningKeys, until: Date | null = null) => ({
  hmacKey: parseSecret(secret),
  privateKey: parsePrivateKey(privateKey),
  until,
});

/** Signs a message as a delivery does. */
function sign(signingKeys = [openKeys(keys)], sentAt = Date.now()): Record<string, string> {
  const timestamp = Math.floor(sentAt / 1_000);
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(signingKeys, { id: 'msg_1', timestamp, body: BODY }),
  };
}

async function expectRejected(...args: Parameters<typeof verifyWebhook>): Promise<string> {
  const outcome = await verifyWebhook(...args).catch((error: unknown) => error);
  expect(outcome).to.be.instanceOf(WebhookVerificationError);
  return (outcome as Error).message;
}

describe('verifyWebhook', () => {
  for (const [name, key] of [
    ['the secret', keys.secret],
    ['the public key', keys.publicKey],
  ] as const) {
    it(`accepts a message that the service signed, with ${name}, and returns its event`, async () => {
      expect(await verifyWebhook(BODY, sign(), key)).to.deep.equal(JSON.parse(BODY));
    });

    it(`rejects a changed body, id and time, and the signatures of other keys, with ${name}`, async () => {
      await expectRejected(`${BODY} `, sign(), key);
      await expectRejected(BODY, { ...sign(), 'webhook-id': 'msg_2' }, key);
      const time = String(Math.floor(Date.now() / 1_000) - 1);
      await expectRejected(BODY, { ...sign(), 'webhook-timestamp': time }, key);
      await expectRejected(BODY, sign([openKeys(previous)]), key);
    });

    it(`accepts both keys for the time after a rotation, with ${name}`, async () => {
      const rotated = sign([openKeys(previous), openKeys(keys, new Date(Date.now() + HOUR_MS))]);
      expect(await verifyWebhook(BODY, rotated, key)).to.deep.equal(JSON.parse(BODY));
    });
  }

  it('accepts bytes, a Headers object, arrays of header values, and several keys', async () => {
    const bytes = new TextEncoder().encode(BODY);
    expect(await verifyWebhook(bytes, new Headers(sign()), keys.secret)).to.be.an('object');
    expect(await verifyWebhook(bytes.buffer, new Headers(sign()), [previous.secret, keys.secret])).to.be.an('object');
    const { 'webhook-signature': signature, ...rest } = sign();
    expect(await verifyWebhook(BODY, { ...rest, 'webhook-signature': [signature ?? ''] }, keys.publicKey)).to.be.an(
      'object',
    );
  });

  it('accepts what the official library signs', async () => {
    const now = new Date();
    const signature = new Webhook(keys.secret).sign('msg_1', now, BODY);
    const headers = { ...sign(undefined, now.getTime()), 'webhook-signature': signature };
    expect(await verifyWebhook(BODY, headers, keys.secret)).to.deep.equal(JSON.parse(BODY));
  });

  it('rejects messages older or newer than the tolerance', async () => {
    for (const sentAt of [Date.now() - HOUR_MS, Date.now() + HOUR_MS]) {
      expect(await expectRejected(BODY, sign(undefined, sentAt), keys.secret)).to.include('too old');
    }
    const old = sign(undefined, Date.now() - HOUR_MS);
    expect(await verifyWebhook(BODY, old, keys.secret, { toleranceSeconds: 4_000 })).to.be.an('object');
    await expectRejected(BODY, sign(undefined, Date.now() - 20_000), keys.secret, { toleranceSeconds: 10 });
  });

  it('rejects missing and malformed headers', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      expect(await expectRejected(BODY, { ...sign(), [name]: undefined }, keys.secret)).to.include(name);
    }
    for (const timestamp of ['now', '', '-1', 'Infinity', '1e9']) {
      await expectRejected(BODY, { ...sign(), 'webhook-timestamp': timestamp }, keys.secret);
    }
    for (const signature of ['v1', 'v1,', 'v1,é', 'v1a,AAAA', `v2,${'A'.repeat(44)}`, 'v1,'.repeat(5_000)]) {
      await expectRejected(BODY, { ...sign(), 'webhook-signature': signature }, keys.secret);
    }
  });

  it('rejects a signed body that is not JSON', async () => {
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = signWebhook([openKeys(keys)], { id: 'msg_1', timestamp, body: 'hello' });
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
    expect(await expectRejected('hello', headers, keys.secret)).to.include('not JSON');
  });

  it('throws a TypeError for a key that cannot be one, instead of rejecting every message', async () => {
    for (const key of ['', 'whsec_', 'whsec_AAAA', 'secret', keys.privateKey]) {
      const outcome = await verifyWebhook(BODY, sign(), key).catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(TypeError);
    }
    expect(await verifyWebhook(BODY, sign(), []).catch((error: unknown) => error)).to.be.instanceOf(TypeError);
  });
});

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { buildCallbackToken, parseCallbackToken } from '../../shared/domain/generations/execution/callbacks.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const SECRET_KEY = '0123456789abcdef0123456789abcdef';

describe('the address of a call-back', () => {
  const target = { uuid: randomUUID(), accountId: 12, upstream: 'my-gateway', submitStartedAt: new Date() };
  beforeEach(() => setTestConfig({ SECRET_KEY }));

  it('leads back to the run, and is another one each time', () => {
    const tokens = [buildCallbackToken(target), buildCallbackToken(target)];
    expect(tokens.map(parseCallbackToken)).to.deep.equal([target, target]);
    expect(new Set(tokens).size).to.equal(2);
  });

  it('contains only characters of a path, and nothing that identifies the generation', () => {
    const token = buildCallbackToken(target);
    expect(token).to.match(/^[\w-]+$/);
    const bytes = Buffer.from(token, 'base64url').toString('latin1');
    for (const text of [target.uuid, target.upstream]) expect(token + bytes).to.not.include(text);
  });

  it('cannot be changed or guessed', () => {
    const token = buildCallbackToken(target);
    const bytes = Buffer.from(token, 'base64url');
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] as number) ^ 1;
      expect(parseCallbackToken(changed.toString('base64url')), `byte ${index}`).to.equal(undefined);
    }
    const others = ['', 'x', '%', 'é', token.slice(1), `${token}AAAA`, 'A'.repeat(token.length), 'A'.repeat(100_000)];
    for (const other of others) expect(parseCallbackToken(other)).to.equal(undefined);
  });

  it('is not valid with another SECRET_KEY', () => {
    const token = buildCallbackToken(target);
    setTestConfig({ SECRET_KEY: SECRET_KEY.replace('0', '1') });
    expect(parseCallbackToken(token)).to.equal(undefined);
  });
});

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { findFreePort } from '../../dev/local/servers/ports.ts';
import { waitUntil } from '../../dev/local/servers/processes.ts';
import {
  generateSigningKeys,
  parsePrivateKey,
  parseSecret,
  signWebhook,
} from '../../shared/domain/webhooks/signingKeys.ts';
import { appendRunEvent } from '../harness/runEvents.ts';
import { useFolder } from '../harness/useFolder.ts';

const DOCUMENT = new URL('../../docs/webhooks.md', import.meta.url);
const START_TIMEOUT_MS = 20_000;
const HOUR_MS = 3_600_000;
/** Characters of several bytes, so that lengths in characters and bytes differ. */
const BODY = JSON.stringify({ type: 'generation.succeeded', data: { prompt: 'a lighthouse – 灯台 🗼' } });

/** Programs in the document, by the name in their first line. */
const PROGRAMS = new Map(
  [...readFileSync(DOCUMENT, 'utf8').matchAll(/^```\w+\n(?:\/\/|#) (\w+\.\w+)[:\n][^]*?^```$/gm)].map(
    ([block, name]) => [name as string, block.split('\n').slice(1, -1).join('\n')],
  ),
);

const keys = generateSigningKeys();
const previous = generateSigningKeys();
const openKeys = ({ secret, privateKey }: typeof keys, until: Date | null = null) => ({
  hmacKey: parseSecret(secret),
  privateKey: parsePrivateKey(privateKey),
  until,
});

/** Signs a message as a delivery does, with the keys of an endpoint. */
function buildHeaders(signingKeys = [openKeys(keys)], sentAt = Date.now(), id = 'msg_1'): Record<string, string> {
  const timestamp = Math.floor(sentAt / 1_000);
  const signature = signWebhook(signingKeys, { id, timestamp, body: BODY });
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  };
}

describe('the receivers in docs/webhooks.md', () => {
  const folder = useFolder();
  before(() => {
    for (const [name, program] of PROGRAMS) writeFileSync(join(folder, name), program);
  });

  it('are the programs that these tests run', () => {
    expect([...PROGRAMS.keys()]).to.deep.equal(['receiver.mjs', 'receiver.py', 'verify.mjs']);
  });

  for (const [file, program] of [
    ['receiver.mjs', process.execPath],
    ['receiver.py', 'python3'],
  ] as const) {
    describe(file, () => {
      let receiver: ChildProcess;
      let output = '';
      let address: string;

      before(async function () {
        this.timeout(2 * START_TIMEOUT_MS);
        if (!canRun(program)) {
          const reason = `${program} is not on the PATH`;
          appendRunEvent({ kind: 'skip', file: this.test?.file ?? '', reason });
          return this.skip();
        }
        const port = await findFreePort();
        address = `http://127.0.0.1:${port}/`;
        receiver = spawn(program, [join(folder, file)], {
          env: {
            PATH: process.env['PATH'],
            HOME: process.env['HOME'],
            WEBHOOK_SECRET: keys.secret,
            PORT: String(port),
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        for (const stream of [receiver.stdout, receiver.stderr])
          stream?.on('data', (chunk: Buffer) => void (output += chunk.toString()));
        expect(await waitUntil(() => canConnect(port), START_TIMEOUT_MS), output).to.equal(true);
      });
      after(async () => {
        if (receiver === undefined || receiver.exitCode !== null) return;
        const ended = new Promise((resolve) => receiver.once('exit', resolve));
        receiver.kill();
        await ended;
      });

      /** Sends a message. @returns the status of the response. */
      const send = async (headers: Record<string, string>, body = BODY): Promise<number> =>
        (await fetch(address, { method: 'POST', headers, body })).status;

      it('accepts a message that the service signed, and prints its id and type', async () => {
        expect(await send(buildHeaders(undefined, undefined, 'msg_valid'))).to.equal(204);
        const isPrinted = () => output.includes('msg_valid generation.succeeded');
        expect(await waitUntil(isPrinted, START_TIMEOUT_MS), output).to.equal(true);
      });

      it('accepts the signatures of both secrets for a day after a rotation', async () => {
        const rotated = [openKeys(previous), openKeys(keys, new Date(Date.now() + HOUR_MS))];
        expect(await send(buildHeaders(rotated))).to.equal(204);
        expect(await send(buildHeaders([openKeys(keys), openKeys(previous, new Date(Date.now() + HOUR_MS))]))).to.equal(
          204,
        );
        const expired = [openKeys(previous), openKeys(keys, new Date(Date.now() - HOUR_MS))];
        expect(await send(buildHeaders(expired))).to.equal(400);
      });

      it('rejects a changed body, another id, a time that is too old or too new, and the signature of another key', async () => {
        expect(await send(buildHeaders(), BODY.replace('succeeded', 'failed'))).to.equal(400);
        expect(await send({ ...buildHeaders(), 'webhook-id': 'msg_2' })).to.equal(400);
        const signed = buildHeaders();
        const earlier = String(Number(signed['webhook-timestamp']) - 1);
        expect(await send({ ...signed, 'webhook-timestamp': earlier })).to.equal(400);
        expect(await send(buildHeaders(undefined, Date.now() - HOUR_MS))).to.equal(400);
        expect(await send(buildHeaders(undefined, Date.now() + HOUR_MS))).to.equal(400);
        expect(await send(buildHeaders([openKeys(previous)]))).to.equal(400);
      });

      it('rejects messages with missing or malformed headers, and continues to serve', async () => {
        const { 'webhook-signature': signature, ...unsigned } = buildHeaders();
        expect(await send({})).to.equal(400);
        expect(await send(unsigned)).to.equal(400);
        for (const malformed of ['', 'v1', 'v1,', 'v1,\u00e9', 'v1a,AAAA v1,A=A', `v2,${signature}`, 'v1,'.repeat(500)])
          expect(await send({ ...unsigned, 'webhook-signature': malformed }), malformed).to.equal(400);
        expect(await send(buildHeaders(), '')).to.equal(400);
        expect(await send(buildHeaders())).to.equal(204);
      });
    });
  }

  it('verify.mjs accepts the signature of the key pair, and no other message, time or key', async () => {
    const { isSignedBy } = (await import(pathToFileURL(join(folder, 'verify.mjs')).href)) as {
      isSignedBy: (whpk: string, message: object) => boolean;
    };
    const headers = buildHeaders([openKeys(previous), openKeys(keys, new Date(Date.now() + HOUR_MS))]);
    const message = {
      id: headers['webhook-id'],
      timestamp: headers['webhook-timestamp'],
      body: Buffer.from(BODY),
      signatures: headers['webhook-signature'],
    };
    expect(isSignedBy(keys.publicKey, message)).to.equal(true);
    expect(isSignedBy(previous.publicKey, message)).to.equal(true);
    expect(isSignedBy(generateSigningKeys().publicKey, message)).to.equal(false);
    expect(isSignedBy(keys.publicKey, { ...message, body: Buffer.from(`${BODY} `) })).to.equal(false);
    expect(isSignedBy(keys.publicKey, { ...message, timestamp: '1' })).to.equal(false);
    expect(isSignedBy(keys.publicKey, { ...message, signatures: 'v1,AAAA v1a,AAAA' })).to.equal(false);
  });
});

function canRun(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

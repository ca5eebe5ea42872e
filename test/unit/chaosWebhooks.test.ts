import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { expect } from 'chai';
import { createJournal, type Journal, type ObservedEndpoint } from '../../dev/chaos/clients/journal.ts';
import {
  compareWebhooks,
  type RecordedEnd,
  type RecordedEvent,
} from '../../dev/chaos/clients/webhooks/compareWebhooks.ts';
import type { EndpointState } from '../../dev/chaos/clients/webhooks/endpointHistory.ts';
import { WebhookReceiver, type ReceivedMessage } from '../../dev/chaos/webhookReceiver.ts';
import { createSeededRandom } from '../fakes/seededRandom.ts';

const ACCOUNT = 'account-0';
const EVENT = '01939b6e-61c0-7b2e-8a4c-52d0e7f91b33';
const GENERATION = '01939b6e-61c0-7b2e-8a4c-52d0e7f91b44';
const ENABLED: EndpointState = { token: 'one', events: null, isEnabled: true, isDeleted: false };

/** Data of a generation as GET returns it. */
const DATA = {
  uuid: GENERATION,
  model: 'imgmodel-2',
  model_name: 'Image',
  kind: 'image',
  prompt: 'A lighthouse',
  params: { resolution: '1K', aspect_ratio: '1:1' },
  status: 'succeeded',
  output_url: 'http://127.0.0.1/media/a.png',
  thumbnail_url: null,
  credits_charged: 40,
  error_message: null,
  created_at: '2026-11-21T09:30:05.000Z',
  completed_at: '2026-11-21T09:30:06.000Z',
  duration_ms: 1_000,
  is_watermarked: false,
};

interface Keys {
  secret: string;
  publicKey: string;
  privateKey: KeyObject;
}

function createKeys(): Keys {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x } = privateKey.export({ format: 'jwk' });
  const publicKey = `whpk_${Buffer.from(x as string, 'base64url').toString('base64')}`;
  return { secret: `whsec_${randomBytes(32).toString('base64')}`, publicKey, privateKey };
}

function signWith({ secret, privateKey }: Keys, content: string): string {
  const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
  return `v1,${hmac.update(content).digest('base64')} v1a,${sign(null, Buffer.from(content), privateKey).toString('base64')}`;
}

describe('the comparison of webhooks in a chaos run', () => {
  let journal: Journal;
  let messages: ReceivedMessage[];
  let endpoint: ObservedEndpoint;
  let keys: Keys;
  let ends: RecordedEnd[];
  let events: RecordedEvent[];

  beforeEach(() => {
    messages = [];
    journal = createJournal(messages);
    keys = createKeys();
    endpoint = {
      accountUuid: ACCOUNT,
      uuid: 'endpoint',
      tokens: ['one'],
      isLasting: true,
      changes: [{ requestedAt: 0, confirmedAt: 10, state: ENABLED }],
      keys: [{ secret: keys.secret, publicKey: keys.publicKey, confirmedAt: 10 }],
      rotations: [],
      keysUncertainFrom: null,
      isBusy: false,
      nextChangeAt: 0,
    };
    journal.webhooks.endpoints.push(endpoint);
    journal.webhooks.targets.set('one', { accountUuid: ACCOUNT, endpoint, prompt: null });
    const common = { account_uuid: ACCOUNT, prompt: 'A lighthouse' };
    ends = [{ ...common, uuid: GENERATION, status: 'succeeded', began_at: 1_000 }];
    const event = { event: EVENT, type: 'generation.succeeded', subject: GENERATION };
    events = [{ ...event, account_uuid: ACCOUNT, recorded_at: 1_000, dispatched_at: 1_100 }];
  });

  function receive(changes: Partial<ReceivedMessage> & { data?: object; type?: string; signedWith?: Keys } = {}): void {
    const { data = DATA, type = 'generation.succeeded', signedWith = keys, ...others } = changes;
    const id = others.id ?? `msg_${EVENT}`;
    const body = JSON.stringify({ type, timestamp: '2026-11-21T09:30:06.000Z', data });
    const timestamp = '1795253406';
    const signature = signWith(signedWith, `${id}.${timestamp}.${body}`);
    const common = { token: 'one', at: 2_000, isAccepted: true, response: 'accept' };
    messages.push({ ...common, id, timestamp, signature, body, ...others });
  }

  async function findViolations(): Promise<string[]> {
    const found: string[] = [];
    const client = {
      query: async (text: string) => {
        const table = /FROM (chaos\.ends|chaos\.events)/.exec(text)?.[1] ?? '';
        return { rows: { 'chaos.ends': ends, 'chaos.events': events }[table] ?? [] };
      },
    };
    await compareWebhooks(journal, client, (rule) => found.push(rule));
    return found;
  }

  it('has no violation when an attempt failed, the next one was accepted, and a third one repeated it', async () => {
    receive({ isAccepted: false });
    receive();
    receive({ at: 3_000 });
    expect(await findViolations()).to.deep.equal([]);
    expect(journal.webhooks.required).to.equal(1);
  });

  it('reports an end that never arrived, or was never accepted', async () => {
    expect(await findViolations()).to.deep.equal(['ended-generation-is-announced']);
    receive({ isAccepted: false });
    expect(await findViolations()).to.deep.equal(['ended-generation-is-announced']);
  });

  it('requires no message that a change around the end may have prevented', async () => {
    const disabled = { ...ENABLED, isEnabled: false };
    const other = { ...ENABLED, events: ['generation.failed' as const] };
    for (const changes of [
      // Confirmed after the statement began, of unknown outcome, disabled later, and subscribed to another type.
      [{ requestedAt: 0, confirmedAt: 1_001, state: ENABLED }],
      [{ requestedAt: 0, confirmedAt: null, state: ENABLED }],
      [...endpoint.changes, { requestedAt: 90_000, confirmedAt: 90_001, state: disabled }],
      [...endpoint.changes, { requestedAt: 1_050, confirmedAt: null, state: other }],
    ]) {
      endpoint.changes = changes;
      await findViolations();
      expect(journal.webhooks.required, JSON.stringify(changes)).to.equal(0);
    }
  });

  it('requires a message after an endpoint was enabled again, and one to a webhook_url', async () => {
    const disabled = { requestedAt: 20, confirmedAt: 30, state: { ...ENABLED, isEnabled: false } };
    endpoint.changes = [...endpoint.changes, disabled, { requestedAt: 40, confirmedAt: 50, state: ENABLED }];
    journal.webhooks.targets.set('two', { accountUuid: ACCOUNT, endpoint: null, prompt: 'A lighthouse' });
    journal.createsByPrompt.set('A lighthouse', { webhookToken: 'two' } as never);
    expect(await findViolations()).to.deep.equal(['ended-generation-is-announced', 'ended-generation-is-announced']);
    receive();
    receive({ token: 'two' });
    expect(await findViolations()).to.deep.equal([]);
    expect(journal.webhooks.required).to.equal(2);
  });

  it('reports events that are unknown, have another outcome, or belong to another account or type', async () => {
    receive();
    expect(await findViolations()).to.deep.equal([]);
    const wrong: (() => void)[] = [
      () => receive({ token: 'redirected-one' }),
      () => receive({ id: 'msg_01939b6e-61c0-7b2e-8a4c-52d0e7f91b99', data: {}, type: 'key.created' }),
      () => receive({ body: 'nothing' }),
      () => ((ends[0] as RecordedEnd).status = 'failed'),
      () => ((events[0] as RecordedEvent).account_uuid = 'account-1'),
      () => (endpoint.changes[0] = { requestedAt: 0, confirmedAt: 1, state: { ...ENABLED, events: ['key.created'] } }),
      () => endpoint.changes.push({ requestedAt: 15_000, confirmedAt: 15_001, state: { ...ENABLED, isDeleted: true } }),
    ];
    for (const change of wrong) {
      const kept = { ends, events, changes: [...endpoint.changes] };
      ends = [{ ...(ends[0] as RecordedEnd) }];
      events = [{ ...(events[0] as RecordedEvent) }];
      messages.splice(0);
      receive({ at: 90_000 });
      change();
      expect(await findViolations(), String(change)).to.include('webhook-event-is-known');
      ({ ends, events } = kept);
      endpoint.changes = kept.changes;
    }
  });

  it('reports another webhook-id or body for the same event', async () => {
    events.push({ ...(events[0] as RecordedEvent), event: '01939b6e-61c0-7b2e-8a4c-52d0e7f91b55' });
    receive();
    receive({ id: 'msg_01939b6e-61c0-7b2e-8a4c-52d0e7f91b55' });
    expect(await findViolations()).to.deep.equal(['webhook-id-is-stable']);
    messages.pop();
    receive({ data: { ...DATA, credits_charged: 41 } });
    expect(await findViolations()).to.deep.equal(['webhook-id-is-stable']);
  });

  it('requires the signature of the keys in use, and after a rotation for a while also accepts the former ones', async () => {
    receive({ signedWith: createKeys() });
    expect(await findViolations()).to.deep.equal(['webhook-is-signed']);
    messages.pop();
    const rotated = createKeys();
    endpoint.rotations.push(5_000);
    endpoint.keys.push({ secret: rotated.secret, publicKey: rotated.publicKey, confirmedAt: 6_000 });
    receive({ at: 50_000 });
    receive({ at: 70_000, signedWith: rotated });
    expect(await findViolations()).to.deep.equal([]);
    receive({ at: 70_000 });
    expect(await findViolations()).to.deep.equal(['webhook-is-signed']);
    endpoint.keysUncertainFrom = 65_000;
    expect(await findViolations()).to.deep.equal([]);
  });
});

const post = (receiver: WebhookReceiver, token: string, id: string) =>
  fetch(receiver.buildUrl(token), {
    method: 'POST',
    body: '{}',
    headers: { 'webhook-id': id },
    redirect: 'manual',
  }).then(
    async (response) => {
      await response.text();
      return response.status;
    },
    () => 'none' as const,
  );

describe('the webhook receiver of a chaos run', () => {
  it('misbehaves by the seed, and accepts everything while it must', async function () {
    this.timeout(60_000);
    let advancedMs = 0;
    const receiver = await new WebhookReceiver(createSeededRandom(3), () => advancedMs).start();
    try {
      const ids = Array.from({ length: 40 }, (_, index) => `msg_${index}`);
      const requests = ids.map((id) => post(receiver, 'one', id));
      const statuses = await Promise.race([
        Promise.all(requests),
        receiver.setCalm().then(() => Promise.all(requests)),
      ]);
      expect(receiver.messages).to.have.length(40);
      expect(receiver.messages.some(({ isAccepted }) => isAccepted)).to.equal(true);
      for (const [index, status] of statuses.entries()) {
        const message = receiver.messages.find(({ id }) => id === ids[index]);
        const isSuccess = typeof status === 'number' && status >= 200 && status < 300;
        expect(message?.isAccepted, `${status} ${message?.response}`).to.equal(isSuccess);
      }
      expect(await post(receiver, 'one', 'msg_calm')).to.be.within(200, 202);
    } finally {
      await receiver.close();
    }
    const patient = await new WebhookReceiver(createSeededRandom(3), () => advancedMs).start();
    try {
      patient.isPatient = () => true;
      expect(await post(patient, 'one', 'msg_0')).to.be.within(200, 202);
      patient.isPatient = () => false;
      // After a month each path accepts a few messages first.
      advancedMs = 31 * 24 * 60 * 60 * 1_000;
      for (const id of ['msg_a', 'msg_b', 'msg_c']) expect(await post(patient, 'two', id)).to.be.within(200, 202);
    } finally {
      await patient.close();
    }
  });
});

import { expect } from 'chai';
import { attemptDeliveries } from '../../shared/domain/webhooks/attempts.ts';
import { toOutcome } from '../../shared/domain/webhooks/outcomes.ts';
import { type LeasedDelivery, recordAndClaim } from '../../shared/domain/webhooks/recordAndClaim.ts';
import { startDraining, waitForInFlight } from '../../shared/lib/drain.ts';
import { WEBHOOK_CONCURRENCY } from '../../shared/spec/webhookDelivery.ts';
import { WebhookReceiver } from '../fakes/webhookReceiver.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';
import {
  createTestEndpoint,
  deliverDue,
  endAttempts,
  insertDeliveries,
  readDeliveries,
  readEndpoint,
  type TestEndpoint,
} from '../harness/webhookFixture.ts';

describe('deliveries that are leased in advance', () => {
  let service: TestService;
  let receiver: WebhookReceiver;
  let endpoint: TestEndpoint;
  let path: string;
  beforeEach(async () => {
    receiver = await new WebhookReceiver().start();
    service = await startTestService({ workers: 0, env: { WEBHOOK_ADDRESSES: 'any' } });
    const customer = await service.createCustomer('pro');
    path = `/${customer.email}`;
    endpoint = await createTestEndpoint(service, customer, receiver.url + path);
  });
  afterEach(async () => {
    await service.stop();
    await receiver.stop();
  });

  /**
   * Leases eight deliveries of which two may be in flight, and starts attempts. @returns those that have ended, as they
   * do.
   */
  async function attemptEight(): Promise<(number | 'released' | null)[]> {
    await insertDeliveries(service, endpoint.id, 20);
    const { leased } = await claim((await claim([])).leased);
    expect(leased.map(({ allowed }) => allowed)).to.deep.equal(Array(8).fill(2));
    const ends: (number | 'released' | null)[] = [];
    attemptDeliveries(leased, (_, sent) => void ends.push(sent === undefined ? 'released' : sent.status));
    return ends;
  }

  /** Records successes, and leases further deliveries. */
  const claim = (ended: LeasedDelivery[], durationMs = 5) =>
    recordAndClaim(
      ended.map((delivery) => toOutcome(delivery, { sentAt: service.now, durationMs, signature: null, status: 204 })),
      { healthy: 1, failing: 1, concurrency: WEBHOOK_CONCURRENCY },
    );

  const expectOneAttemptEach = async (count: number) => {
    const deliveries = await readDeliveries(service, endpoint.id);
    expect(deliveries.map(({ attempts }) => attempts)).to.deep.equal(Array(count).fill(1));
    expect(new Set(receiver.at(path).map(({ id }) => id)).size).to.equal(count);
    expect(receiver.at(path)).to.have.length(count);
    expect(receiver.peaks.get(path)).to.be.most(WEBHOOK_CONCURRENCY);
  };

  it('are those of the process that has leased all others, after quick attempts', async () => {
    await insertDeliveries(service, endpoint.id, 60);
    const { leased: first } = await claim([]);
    expect(first.map(({ allowed }) => allowed)).to.deep.equal([1]);
    const { leased: second } = await claim(first);
    expect(second.map(({ allowed }) => allowed)).to.deep.equal(Array(8).fill(2));
    const { leased: third } = await claim(second.slice(0, 7));
    expect(third.map(({ allowed }) => allowed)).to.deep.equal(Array(15).fill(4));
    // Eight may be in flight now, and three are leased.
    const { leased: afterLong } = await claim([...second.slice(7), ...third.slice(0, 12)], 600);
    expect(afterLong.map(({ allowed }) => allowed)).to.deep.equal(Array(5).fill(WEBHOOK_CONCURRENCY));
    await service.sql('UPDATE webhook_deliveries SET leased_by = gen_random_uuid() WHERE id = $1', [third[12]!.id]);
    expect((await claim(third.slice(13, 14))).leased).to.have.length(1);
    const { recorded } = await claim(third.slice(12, 13));
    expect([...recorded]).to.deep.equal([]);
  });

  it('start when others have ended, before these are recorded', async () => {
    const ends = await attemptEight();
    await eventually('all have ended', () => ends.length === 8);
    expect(ends).to.deep.equal(Array(8).fill(204));
    expect(receiver.peaks.get(path)).to.be.most(2);
  });

  it('are recorded many at a time, after one attempt each', async () => {
    await insertDeliveries(service, endpoint.id, 200);
    await deliverDue();
    await expectOneAttemptEach(200);
    // Each call stores its time.
    const calls = new Set((await readDeliveries(service, endpoint.id)).map((row) => row.last_attempt_at!.getTime()));
    expect(calls.size).to.be.below(100);
  });

  it('are given up soon while the others hang', async () => {
    receiver.behaviours.set(path, 'hang');
    const ends = await attemptEight();
    await eventually('those that wait are given up', () => ends.length > 0);
    expect(ends).to.deep.equal(Array(6).fill('released'));
    await endAttempts(receiver);
    expect(receiver.at(path)).to.have.length(2);
  });

  it('are given up when an attempt fails, and then leased one at a time', async () => {
    receiver.behaviours.set(path, 500);
    const ends = await attemptEight();
    await eventually('all have ended', () => ends.length === 8);
    expect(ends).to.deep.equal([...Array(6).fill('released'), 500, 500]);
    expect(receiver.at(path)).to.have.length(2);
  });

  it('are given up at once when the process ends', async () => {
    receiver.behaviours.set(path, 'hang');
    const ends = await attemptEight();
    startDraining();
    expect(ends).to.deep.equal(Array(6).fill('released'));
    await endAttempts(receiver);
  });

  it('are due again as soon as they were released, as before', async () => {
    receiver.onReceived = () => {
      if (receiver.at(path).length > 40) receiver.behaviours.set(path, 500);
    };
    await insertDeliveries(service, endpoint.id, 100);
    await deliverDue();
    await expectOneAttemptEach(100);
    expect((await readEndpoint(service, endpoint.id)).failing_since).to.be.instanceOf(Date);
  });

  it('do not start when too little of their lease is left', async () => {
    await insertDeliveries(service, endpoint.id);
    const { leased } = await claim([]);
    await service.moveClockTo(new Date(service.now.getTime() + 15_000));
    const ends: unknown[] = [];
    attemptDeliveries(leased, (_, sent) => void ends.push(sent));
    await waitForInFlight();
    expect(ends).to.deep.equal([undefined]);
    expect(receiver.received).to.deep.equal([]);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { createSeededRandom } from '../seededRandom.ts';
import { type FakeStripeEvent, signPayload } from './events.ts';

export interface DeliveryAttempt {
  eventId: string;
  type: string;
  /** Response status of the webhook; 0 without a response. */
  status: number;
}

interface PendingDelivery {
  event: FakeStripeEvent;
  at: number;
  attempts: number;
  isCopy: boolean;
}

const MAX_ATTEMPTS = 40;
const RESPONSE_TIMEOUT_MS = 10_000;

/** Returns the id of the customer that an event is about; empty if it names none. */
function findCustomer({ body }: FakeStripeEvent): string {
  const { data } = JSON.parse(body) as { data: { object: { customer?: string | { id: string } | null } } };
  const { customer } = data.object;
  return typeof customer === 'string' ? customer : (customer?.id ?? '');
}

/** Posts events to a webhook until it accepts them, with configurable delivery problems. */
export class WebhookDelivery {
  /** Probabilities (0 to 1) that an event is dropped, and that it is sent twice. */
  drop = 0;
  duplicate = 0;
  /** Shuffles events that wait at the same time. */
  reorder = false;
  delayMs = 0;
  /** Maximum number of concurrent deliveries. */
  parallel = 1;
  /** Dropped events, which are sent only by `sendDropped`. */
  readonly dropped: FakeStripeEvent[] = [];
  readonly attempts: DeliveryAttempt[] = [];
  webhookUrl: string | undefined;
  /** Clock of the service that verifies signatures. */
  now = (): number => Date.now();
  private readonly secret: string;
  private readonly random: () => number;
  private pending: PendingDelivery[] = [];
  /** Events that are held back, by customer. */
  private readonly held = new Map<string, FakeStripeEvent[]>();
  private inFlight = 0;
  private isPaused = false;
  private isStopped = false;
  private onDrained: (() => void)[] = [];

  constructor(secret: string, seed: number) {
    this.secret = secret;
    const random = createSeededRandom(seed);
    this.random = () => random.next();
  }

  /** Holds all events back while true. */
  get pause(): boolean {
    return this.isPaused;
  }

  set pause(isPaused: boolean) {
    this.isPaused = isPaused;
    this.wake();
  }

  /** Holds back the events of a customer until `release`. @returns false if they are held back already. */
  hold(customerId: string): boolean {
    if (this.held.has(customerId)) return false;
    this.held.set(customerId, []);
    return true;
  }

  /** Sends the events of a customer that were held back. */
  release(customerId: string): void {
    const events = this.held.get(customerId) ?? [];
    this.held.delete(customerId);
    for (const event of events) this.send(event);
  }

  /** Removes all delivery problems. Dropped events stay dropped. */
  reset(): void {
    for (const customerId of this.held.keys()) this.release(customerId);
    Object.assign(this, { drop: 0, duplicate: 0, reorder: false, delayMs: 0, parallel: 1, pause: false });
  }

  send(event: FakeStripeEvent): void {
    if (this.webhookUrl === undefined) return;
    const held = this.held.get(findCustomer(event));
    if (held !== undefined) {
      held.push(event);
      return;
    }
    if (this.random() < this.drop) {
      this.dropped.push(event);
      return;
    }
    this.queue({ event, at: Date.now() + this.delayMs, attempts: 0, isCopy: false });
  }

  /** Sends the dropped events. */
  sendDropped(): void {
    for (const event of this.dropped.splice(0)) this.queue({ event, at: 0, attempts: 0, isCopy: true });
  }

  /** Sends an event again. */
  resend(event: FakeStripeEvent): void {
    this.queue({ event, at: 0, attempts: 0, isCopy: true });
  }

  /** Resolves when the webhook has accepted all events. */
  async drained(): Promise<void> {
    if (this.isPaused && this.pending.length > 0)
      throw new Error('Deliveries are paused, so that events cannot drain.');
    if (this.pending.length > 0 || this.inFlight > 0)
      await new Promise<void>((resolve) => this.onDrained.push(resolve));
    const refused = this.undelivered.splice(0);
    if (refused.length > 0) throw new Error(`The webhook rejected ${refused.map(({ type }) => type).join(', ')}.`);
  }

  /** Events that the webhook still rejected on the last attempt. */
  readonly undelivered: FakeStripeEvent[] = [];

  stop(): void {
    this.isStopped = true;
    this.pending = [];
  }

  private queue(delivery: PendingDelivery): void {
    this.pending.push(delivery);
    // Events of the same tick wait together, so that they can be shuffled.
    setImmediate(() => this.wake());
  }

  private wake(): void {
    while (this.inFlight < this.parallel && !this.isPaused && !this.isStopped) {
      const next = this.take();
      if (next === undefined) break;
      this.inFlight += 1;
      void this.deliver(next).finally(() => {
        this.inFlight -= 1;
        this.wake();
        if (this.pending.length === 0 && this.inFlight === 0) for (const resolve of this.onDrained.splice(0)) resolve();
      });
    }
  }

  private take(): PendingDelivery | undefined {
    const ready = this.pending.filter(({ at }) => at <= Date.now());
    const next = ready[this.reorder ? Math.floor(this.random() * ready.length) : 0];
    if (next !== undefined) this.pending.splice(this.pending.indexOf(next), 1);
    else if (this.pending.length > 0) {
      const wait = Math.min(...this.pending.map(({ at }) => at)) - Date.now();
      setTimeout(() => this.wake(), Math.max(1, wait)).unref();
    }
    return next;
  }

  private async deliver(delivery: PendingDelivery): Promise<void> {
    const { event, attempts, isCopy } = delivery;
    const status = await this.post(event);
    this.attempts.push({ eventId: event.id, type: event.type, status });
    if (this.isStopped) return;
    const isTaken = status >= 200 && status < 300;
    if (isTaken && !isCopy && this.random() < this.duplicate) {
      this.queue({ event, at: Date.now() + this.delayMs, attempts: 0, isCopy: true });
    }
    if (isTaken) return;
    if (attempts + 1 >= MAX_ATTEMPTS) this.undelivered.push(event);
    else this.queue({ ...delivery, at: Date.now() + Math.min(50 * 2 ** attempts, 1_000), attempts: attempts + 1 });
  }

  private async post({ body }: FakeStripeEvent): Promise<number> {
    const signature = await signPayload(body, this.secret, Math.floor(this.now() / 1_000));
    try {
      const response = await fetch(this.webhookUrl ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
        body,
        signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      });
      await response.arrayBuffer();
      return response.status;
    } catch {
      // No connection: leave a busy machine some time before the next attempt.
      await sleep(5);
      return 0;
    }
  }
}

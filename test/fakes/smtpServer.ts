import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type ParsedMessage, parseMessage } from '../../dev/local/mail/parseMessage.ts';
import { type ReceivedMessage, type SmtpReceiver, startSmtpReceiver } from '../../dev/local/mail/smtpReceiver.ts';

/**
 * Misbehavior of the fake for one message:
 * - a number: the recipient is rejected with this status.
 * - `data:` and a number: the message is rejected with this status after its data.
 * - `cutBefore`, `cutAfter`: the connection is closed after the data, before or after the message is accepted.
 * - `hang`: there is no response to the data.
 * - `slow`: the message is accepted after a second.
 */
export type SmtpFault = number | `data:${number}` | 'cutBefore' | 'cutAfter' | 'hang' | 'slow';

/** A message that the fake has accepted. */
export interface AcceptedMessage extends ParsedMessage {
  to: string;
  raw: string;
}

const SLOW_MS = 1_000;

/** A fake mail server. It accepts messages for any recipient, unless it has a fault. */
export class FakeSmtpServer {
  url = '';
  readonly messages: AcceptedMessage[] = [];
  /** Recipients of all attempts. */
  readonly attempts: string[] = [];
  /** Faults of the next attempts, in order. */
  faults: SmtpFault[] = [];
  /** Faults of all attempts for a recipient. */
  readonly faultsByRecipient = new Map<string, SmtpFault>();
  /** True: the first attempt for each recipient is deferred, as by greylisting. */
  isGreylisting = false;
  /** True: connections get no greeting. */
  isMute = false;
  /** Highest number of messages that were received at the same time. */
  maxConcurrency = 0;
  #concurrency = 0;
  #receiver: SmtpReceiver | undefined;
  readonly #faultOfSocket = new WeakMap<Socket, SmtpFault>();

  /** Accepts connections, on the same port as before if it was stopped. */
  async start(): Promise<this> {
    const port = this.url === '' ? 0 : Number(new URL(this.url).port);
    this.#receiver = await startSmtpReceiver(port, {
      onConnect: () => (this.isMute ? new Promise(() => {}) : Promise.resolve()),
      onRecipient: (address, socket) => this.#receiveRecipient(address, socket),
      onMessage: (message, socket) => this.#receiveMessage(message, socket),
    });
    this.url = this.#receiver.url;
    return this;
  }

  /** Closes all connections and refuses new ones. */
  async stop(): Promise<void> {
    await this.#receiver?.stop();
    this.#receiver = undefined;
  }

  /** Removes messages and faults. */
  reset(): void {
    this.messages.length = 0;
    this.attempts.length = 0;
    this.faults = [];
    this.faultsByRecipient.clear();
    this.isGreylisting = false;
    this.isMute = false;
    this.maxConcurrency = 0;
  }

  findMessages(to: string): AcceptedMessage[] {
    return this.messages.filter((message) => message.to === to);
  }

  async #receiveRecipient(address: string, socket: Socket | undefined): Promise<void> {
    const isFirst = !this.attempts.includes(address);
    this.attempts.push(address);
    if (this.isGreylisting && isFirst) throw createSmtpError(451, 'Greylisted, try again later');
    const fault = this.faults.shift() ?? this.faultsByRecipient.get(address);
    if (typeof fault === 'number') throw createSmtpError(fault, `${address} is rejected`);
    if (socket === undefined) return;
    if (fault === undefined) this.#faultOfSocket.delete(socket);
    else this.#faultOfSocket.set(socket, fault);
  }

  async #receiveMessage({ to, raw }: ReceivedMessage, socket: Socket | undefined): Promise<void> {
    this.#concurrency += 1;
    this.maxConcurrency = Math.max(this.maxConcurrency, this.#concurrency);
    try {
      const fault = socket === undefined ? undefined : this.#faultOfSocket.get(socket);
      if (fault === 'hang') await new Promise((resolve) => socket?.once('close', resolve));
      if (fault === 'hang' || fault === 'cutBefore') return void socket?.destroy();
      if (typeof fault === 'string' && fault.startsWith('data:'))
        throw createSmtpError(Number(fault.slice('data:'.length)), 'The message is rejected');
      if (fault === 'slow') await setTimeout(SLOW_MS);
      this.messages.push({ ...parseMessage(raw), to: to.join(','), raw });
      if (fault === 'cutAfter') socket?.destroy();
    } finally {
      this.#concurrency -= 1;
    }
  }
}

function createSmtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

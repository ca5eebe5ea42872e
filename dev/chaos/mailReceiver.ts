import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type ReceivedMessage, type SmtpReceiver, startSmtpReceiver } from '../local/mail/smtpReceiver.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';

/** A message that the server accepted. */
export interface AcceptedMail {
  /** From the Message-ID. */
  uuid: string;
  recipient: string;
  /** True if the connection was cut before the response: the sender does not know that it was accepted. */
  isCut: boolean;
}

type Answer = 'accept' | 'slow' | 'defer' | 'cut before' | 'cut after';

/** Answers to messages; the first is the most frequent. */
const ANSWERS: readonly Answer[] = [
  ...Array<Answer>(14).fill('accept'),
  'slow',
  'defer',
  'defer',
  'defer',
  'cut before',
  'cut after',
];
const SLOW_MS = 2_000;

/** A mail server that relays nothing, misbehaves by the seed, and records every message that it accepted. */
export class MailReceiver {
  url = '';
  readonly accepted: AcceptedMail[] = [];
  /** Returns true while all messages must be accepted. */
  isPatient: () => boolean = () => false;
  readonly #random: SeededRandom;
  readonly #attempts = new Map<string, number>();
  #isCalm = false;
  #receiver: SmtpReceiver | undefined;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  async start(): Promise<this> {
    this.#receiver = await startSmtpReceiver(0, { onMessage: (message, socket) => this.#receive(message, socket) });
    this.url = this.#receiver.url;
    return this;
  }

  /** Accepts everything from now on. */
  setCalm(): void {
    this.#isCalm = true;
  }

  async stop(): Promise<void> {
    await this.#receiver?.stop();
  }

  /** @throws Error of a message that is rejected. */
  async #receive({ to, raw }: ReceivedMessage, socket: Socket | undefined): Promise<void> {
    const uuid = /^message-id:\s*<([^@>]*)@/im.exec(raw)?.[1] ?? '';
    const earlier = this.#attempts.get(uuid) ?? 0;
    this.#attempts.set(uuid, earlier + 1);
    const isWell = this.#isCalm || this.isPatient();
    const answer = isWell ? 'accept' : this.#random.fork(`${uuid} ${earlier}`).pick(ANSWERS);
    if (answer === 'slow') await delay(SLOW_MS);
    if (answer === 'defer') throw Object.assign(new Error('Try again later'), { responseCode: 451 });
    if (answer === 'cut before') return void socket?.destroy();
    this.accepted.push({ uuid, recipient: to.join(','), isCut: answer === 'cut after' });
    if (answer === 'cut after') socket?.destroy();
  }
}

import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
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
  readonly #sockets = new Map<number, Socket>();
  #isCalm = false;
  readonly #server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 200,
    logger: false,
    onData: (stream, session, respond) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('end', () => {
        const recipient = session.envelope.rcptTo.map(({ address }) => address).join(',');
        const socket = this.#sockets.get(session.remotePort);
        void this.#receive(Buffer.concat(chunks).toString(), recipient, socket).then(respond);
      });
    },
  });

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  async start(): Promise<this> {
    // Senders that disconnect in the middle of a message are one of the faults.
    this.#server.on('error', () => {});
    this.#server.server.on('connection', (socket: Socket) => {
      const { remotePort } = socket;
      if (remotePort === undefined) return;
      this.#sockets.set(remotePort, socket);
      socket.once('close', () => this.#sockets.delete(remotePort));
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server.server, 'listening');
    this.url = `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
    return this;
  }

  /** Accepts everything from now on. */
  setCalm(): void {
    this.#isCalm = true;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets.values()) socket.destroy();
    await closed;
  }

  /** @returns the rejection, or null if the message was accepted or its connection cut. */
  async #receive(raw: string, recipient: string, socket: Socket | undefined): Promise<Error | null> {
    const uuid = /^message-id:\s*<([^@>]*)@/im.exec(raw)?.[1] ?? '';
    const earlier = this.#attempts.get(uuid) ?? 0;
    this.#attempts.set(uuid, earlier + 1);
    const isWell = this.#isCalm || this.isPatient();
    const answer = isWell ? 'accept' : this.#random.fork(`${uuid} ${earlier}`).pick(ANSWERS);
    if (answer === 'slow') await delay(SLOW_MS);
    if (answer === 'defer') return Object.assign(new Error('Try again later'), { responseCode: 451 });
    if (answer === 'cut before') {
      socket?.destroy();
      return null;
    }
    this.accepted.push({ uuid, recipient, isCut: answer === 'cut after' });
    if (answer === 'cut after') socket?.destroy();
    return null;
  }
}

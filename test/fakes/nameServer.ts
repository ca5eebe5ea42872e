import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** A name server that answers every query with the IPv4 address that is set at that moment. */
export class NameServer {
  /** Address of every name; undefined: names do not exist. */
  address: string | undefined;
  queries = 0;
  readonly #socket: Socket = createSocket('udp4');

  /** @returns the host and port, as `Resolver.setServers` takes them. */
  async start(): Promise<string> {
    this.#socket.on('message', (query, { port, address }) => {
      this.queries += 1;
      this.#socket.send(this.#answer(query), port, address);
    });
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  stop(): void {
    this.#socket.close();
  }

  /** Builds a response of RFC 1035 to a query with one question. */
  #answer(query: Buffer): Buffer {
    const questionEnd = query.indexOf(0, 12) + 5;
    const question = query.subarray(12, questionEnd);
    const isIPv4 = question.readUInt16BE(question.length - 4) === 1;
    const hasAnswer = isIPv4 && this.address !== undefined;
    const header = Buffer.from(query.subarray(0, 12));
    // A response; without an address, "no such name".
    header.writeUInt16BE(this.address === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(hasAnswer ? 1 : 0, 6);
    header.writeUInt32BE(0, 8);
    if (!hasAnswer) return Buffer.concat([header, question]);
    // A pointer to the name, type A, class IN, no lifetime, four bytes.
    const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
    return Buffer.concat([header, question, record, Buffer.from((this.address as string).split('.').map(Number))]);
  }
}

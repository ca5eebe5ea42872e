import { expect } from 'chai';
import { Genmeter, GenmeterError, type GenmeterOptions } from '../../packages/client/src/index.ts';

type GetToken = NonNullable<GenmeterOptions['getToken']>;

/** A token endpoint that never responds. */
const hang = () => new Promise<never>(() => {});
const fail = (error: Error) => async (): Promise<string> => {
  throw error;
};
const loseResponse = async (): Promise<Response> => {
  throw new TypeError('fetch failed');
};
const catchError = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

describe('getToken of the client', () => {
  /** Tokens of the requests that were sent. */
  let sent: (string | null)[];
  beforeEach(() => {
    sent = [];
  });

  /** Creates a client whose `getToken` behaves like these functions, one after the other. */
  const createClient = (calls: GetToken[], options: Partial<GenmeterOptions> = {}) =>
    new Genmeter({
      baseUrl: 'https://example.com',
      getToken: (rejected, signal) => {
        const call = calls.shift();
        if (call === undefined) throw new GenmeterError({ error: 'validation_error', detail: 'One call too many.' });
        return call(rejected, signal);
      },
      fetch: async (_url, init) => {
        const token = new Headers(init?.headers).get('authorization');
        sent.push(token);
        return token === 'Bearer expired'
          ? Response.json({ error: 'invalid_api_key', detail: 'Expired.' }, { status: 401 })
          : Response.json({ uuid: 'one' });
      },
      ...options,
    });

  for (const [name, error] of [
    ['an error of its own', new Error('connect ECONNREFUSED')],
    ['a transient error', new GenmeterError({ error: 'network_error', detail: 'No response.' })],
    ['an unavailable service', new GenmeterError({ error: 'internal_error', detail: 'Later.', status: 503 })],
  ] as const) {
    it(`is called again after ${name}, also for a request that is sent once`, async () => {
      const client = createClient([fail(error), async () => 'valid']);
      expect(await client.webhooks.test('one')).to.deep.equal({ uuid: 'one' });
      expect(sent).to.deep.equal(['Bearer valid']);
    });
  }

  it('is called as often as a request is sent, and its last error is thrown as it is', async () => {
    const calls = [new Error('first'), new Error('second'), new Error('third')];
    const thrown = await catchError(createClient(calls.map(fail), { maxRetries: 2 }).usage.summary());
    expect(thrown).to.equal(calls[2]);
    expect(sent).to.deep.equal([]);
  });

  it('is not called again after a GenmeterError that is not transient', async () => {
    const error = new GenmeterError({ error: 'invalid_api_key', detail: 'Sign in again.' });
    const calls = [fail(error), async () => 'valid'];
    expect(await catchError(createClient(calls).usage.summary())).to.equal(error);
    expect(calls).to.have.lengthOf(1);
  });

  it('does not replace the error of a lost response by its own, and does not make a delete succeed with a 404', async () => {
    const error = new GenmeterError({ error: 'not_found', detail: 'No such application.', status: 404 });
    const client = createClient([async () => 'valid', fail(error)], { fetch: loseResponse });
    expect(await catchError(client.generations.delete('one'))).to.include({ error: 'network_error' });
  });

  it('is ended by the timeout, which its signal reports, and called again', async () => {
    let signal: AbortSignal | undefined;
    const calls: GetToken[] = [
      (_rejected, ended) => {
        signal = ended;
        return hang();
      },
      async () => 'valid',
    ];
    const client = createClient(calls, { timeout: 50 });
    expect(await client.usage.summary()).to.deep.equal({ uuid: 'one' });
    expect(signal?.reason).to.include({ error: 'timeout', detail: 'getToken did not respond in time.' });
    expect(await catchError(createClient([hang], { timeout: 50, maxRetries: 0 }).usage.summary())).to.include({
      error: 'timeout',
    });
  });

  it('is ended by the signal of the caller with its reason, and not called again', async () => {
    for (const call of [hang, (_rejected: unknown, ended: AbortSignal) => waitForAbort(ended)]) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('enough')), 20);
      const request = createClient([call]).usage.summary({ signal: controller.signal });
      expect(await catchError(request)).to.include({ message: 'enough' });
    }
  });

  it('sends nothing if it returns after the end of its attempt', async () => {
    const calls: GetToken[] = [
      () => new Promise((resolve) => setTimeout(() => resolve('late'), 100)),
      () => new Promise((resolve) => setTimeout(() => resolve('valid'), 20)),
    ];
    expect(await createClient(calls, { timeout: 50 }).usage.summary()).to.deep.equal({ uuid: 'one' });
    expect(sent).to.deep.equal(['Bearer valid']);
  });

  it('receives a rejected token once', async () => {
    const received: (string | undefined)[] = [];
    const call: GetToken = async (rejected) => {
      received.push(rejected);
      return 'expired';
    };
    expect(await catchError(createClient([call, call]).usage.summary())).to.include({ status: 401 });
    expect(received).to.deep.equal([undefined, 'expired']);
  });

  it('must return a token that a header can contain', async () => {
    for (const value of [undefined, '', 'a\nb', 'two words', 7]) {
      const calls = [async () => value as string, async () => 'valid'];
      const thrown = await catchError(createClient(calls).usage.summary());
      expect(thrown, String(value)).to.be.instanceOf(TypeError).and.include({
        message: 'getToken must return an access token.',
      });
    }
    expect(sent).to.deep.equal([]);
  });
});

function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('own'))));
}

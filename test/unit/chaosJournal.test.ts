import { expect } from 'chai';
import { recordShownGeneration } from '../../dev/chaos/clients/observedGenerations.ts';
import {
  newCreateRequest,
  recordCreateResponse,
  recordSent,
  type CreateRequest,
} from '../../dev/chaos/clients/createRequests.ts';
import { createClientState, type Step, type ClientState } from '../../dev/chaos/clients/clientState.ts';
import { ClockWatch } from '../../dev/chaos/clockWatch.ts';
import { createSeededRandom } from '../fakes/seededRandom.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';

const ACCEPTED = { isGood: true, isUnknown: false };
const REJECTED = { isGood: false, isUnknown: false };

describe('the journal of the clients of a chaos run', () => {
  let clocks: ClockWatch;
  let state: ClientState;
  let step: Step;

  beforeEach(() => {
    clocks = new ClockWatch();
    const options = {
      addresses: ['http://127.0.0.1:1'],
      accounts: 2,
      clients: 1,
      now: () => new Date(),
      haveClocksAgreedSince: (time: number) => clocks.haveAgreedSince(time),
      runAdmin: async () => true,
      receiver: { buildUrl: (token: string) => token, messages: [] },
    };
    state = createClientState({ ...options, stripe: new FakeStripe(), random: createSeededRandom(1) });
    for (const customer of state.customers) {
      customer.uuid = `account-${customer.index}`;
      state.journal.accounts.set(customer.uuid, customer.email);
    }
    step = createStep(0);
  });

  function createStep(index: number): Step {
    const customer = state.customers[index] as Step['customer'];
    return { state, customer, random: createSeededRandom('step'), name: String(index), ids: 0 };
  }

  function recordCreated(create: CreateRequest, uuid: string, changes = {}) {
    const { prompt, model, credits: credits_charged } = create.observed;
    recordSent(step, create);
    const shown = { uuid, prompt, model, credits_charged, status: 'queued', output_url: null, ...changes };
    recordCreateResponse(step, create, ACCEPTED, shown, 'REST');
    return shown;
  }

  const violated = () => state.journal.violations.map(({ invariant }) => invariant);

  it('has no violations when a create is repeated with one key, ends, and appears in late responses', () => {
    const create = newCreateRequest(step, 'key');
    const shown = recordCreated(create, 'a');
    recordCreated(create, 'a');
    recordShownGeneration(step, shown, performance.now());
    const ended = { ...shown, status: 'succeeded', output_url: 'http://127.0.0.1:1/media/a.png' };
    const before = performance.now();
    recordShownGeneration(step, ended, before);
    // The same generation from another process; and a response that was in flight when the end was observed.
    recordShownGeneration(step, { ...ended, output_url: 'http://127.0.0.1:2/media/a.png' }, performance.now());
    recordShownGeneration(step, shown, before - 1);
    expect(violated()).to.deep.equal([]);
  });

  it('reports two generations for one key, and a wrong price', () => {
    const create = newCreateRequest(step, 'key');
    recordCreated(create, 'a');
    recordCreated(create, 'b');
    recordCreated(newCreateRequest(step, null), 'c', { credits_charged: 1 });
    expect(violated()).to.deep.equal(['same-key-same-response', 'price-matches-the-catalog']);
  });

  it('accepts another generation with the price of the other catalog once the key has expired', () => {
    const create = newCreateRequest(step, 'key');
    const [price, other] = create.observed.prices;
    expect(price).not.to.equal(other);
    recordCreated(create, 'a', { credits_charged: price });
    create.observed.isStale = true;
    recordCreated(create, 'b', { credits_charged: other });
    expect(violated()).to.deep.equal([]);
    recordCreated(create, 'b', { credits_charged: price });
    expect(violated()).to.deep.equal(['price-matches-the-catalog']);
  });

  it('reports a generation that is queued again after its end', () => {
    const shown = recordCreated(newCreateRequest(step, null), 'a');
    recordShownGeneration(step, { ...shown, status: 'failed' }, performance.now());
    recordShownGeneration(step, shown, performance.now() + 1);
    expect(violated()).to.deep.equal(['end-is-final']);
  });

  it('reports a deleted generation that is still returned, and foreign or unrequested generations', () => {
    const shown = recordCreated(newCreateRequest(step, null), 'a');
    const known = state.journal.generations.get('a');
    if (known !== undefined) known.deletedAt = performance.now();
    recordShownGeneration(step, shown, performance.now() + 1);
    recordShownGeneration(createStep(1), shown, 0);
    recordShownGeneration(step, { ...shown, uuid: 'x', prompt: 'a prompt that was never sent' }, 0);
    expect(violated()).to.deep.equal(['deleted-is-gone', 'lists-show-own-items', 'no-unrequested-generations']);
  });

  const reject = (beganAt: number) => {
    const create = newCreateRequest(step, null);
    recordSent(step, create);
    const times = { beganAt, endedAt: performance.now() };
    const response = { ...REJECTED, code: 'insufficient_credits', text: 'no credits', ...times };
    recordCreateResponse(step, create, response, undefined, 'REST');
  };
  const count = () => state.journal.rejectedCreates.length;

  it('keeps a rejection for lack of credits only if no clock was moved during its request', async () => {
    reject(performance.now());
    expect(count()).to.equal(1);
    clocks.disturb();
    reject(performance.now());
    const beforeCorrection = performance.now();
    await clocks.correct(Promise.resolve());
    reject(beforeCorrection);
    expect(count()).to.equal(1);
    reject(performance.now());
    expect(count()).to.equal(2);
  });

  it('contains the same prompts for the same seed', () => {
    const prompts = [1, 2].map(() =>
      Array.from({ length: 3 }, () => newCreateRequest(createStep(0), null).observed.prompt),
    );
    expect(prompts[0]).to.deep.equal(prompts[1]);
  });
});

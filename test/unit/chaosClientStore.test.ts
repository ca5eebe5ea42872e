import { expect } from 'chai';
import { compareClientStore } from '../../dev/chaos/clients/compareWithDatabase.ts';
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
const UNKNOWN = { isGood: false, isUnknown: true };

describe('the client store of a chaos run', () => {
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
      state.store.accounts.set(customer.uuid, customer.email);
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

  function recordOutcome(outcome: typeof UNKNOWN): CreateRequest {
    const create = newCreateRequest(step, null);
    recordSent(step, create);
    recordCreateResponse(step, create, outcome, undefined, 'REST');
    return create;
  }

  const violated = () => state.store.violations.map(({ invariant }) => invariant);

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
    const known = state.store.generations.get('a');
    if (known !== undefined) known.deletedAt = performance.now();
    recordShownGeneration(step, shown, performance.now() + 1);
    recordShownGeneration(createStep(1), shown, 0);
    recordShownGeneration(step, { ...shown, uuid: 'x', prompt: 'a prompt that was never sent' }, 0);
    expect(violated()).to.deep.equal(['deleted-is-gone', 'lists-show-own-items', 'no-unrequested-generations']);
  });

  it('is compared with the database', async () => {
    const kept = recordCreated(newCreateRequest(step, null), 'a');
    recordCreated(newCreateRequest(step, null), 'b');
    const lost = recordOutcome(UNKNOWN);
    const rejected = recordOutcome(REJECTED);
    const connected = recordOutcome(UNKNOWN);
    connected.observed.clientId = 'an application';
    const row = { account_uuid: 'account-0', status: 'queued', oauth_client_id: null, deleted_at: null };
    const toRow = ({ observed }: CreateRequest, uuid: string) => ({
      ...row,
      uuid,
      model: observed.model,
      prompt: observed.prompt,
      credits_charged: observed.credits,
    });
    const rows = [
      { ...row, uuid: 'a', model: kept.model, prompt: kept.prompt, credits_charged: kept.credits_charged },
      // Its response was lost: one generation is allowed, two are not.
      toRow(lost, 'l1'),
      toRow(lost, 'l2'),
      toRow(rejected, 'r'),
      toRow(connected, 'c'),
    ];
    const accounts = state.customers.map(({ uuid, email, index }) => ({ id: String(index + 1), uuid, email }));
    const database = {
      query: (text: string) => {
        if (text.includes('FROM generations')) return Promise.resolve({ rows });
        return Promise.resolve({ rows: text.includes('FROM accounts') ? accounts : [] });
      },
    };
    state.store.topups.push({
      accountUuid: 'account-1',
      sessionId: 'cs_test_1',
      amountCents: 5_000,
      at: 0,
      isAwaited: false,
    });
    const found = await compareClientStore(state.store, database);
    expect(found.map(({ invariant, accountId, subject }) => [invariant, accountId, subject])).to.deep.equal([
      ['created-exists', '1', 'b'],
      ['one-generation-per-create', '1', lost.observed.prompt],
      ['rejected-is-not-charged', '1', rejected.observed.prompt],
      ['application-is-recorded', '1', 'c'],
      ['paid-topup-is-credited', '2', 'cs_test_1'],
    ]);
  });

  const reject = (beganAt: number) => {
    const create = newCreateRequest(step, null);
    recordSent(step, create);
    const times = { beganAt, endedAt: performance.now() };
    const response = { ...REJECTED, code: 'insufficient_credits', text: 'no credits', ...times };
    recordCreateResponse(step, create, response, undefined, 'REST');
  };
  const count = () => state.store.rejectedCreates.length;

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

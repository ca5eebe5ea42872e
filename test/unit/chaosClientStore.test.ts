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
import { createSeededRandom } from '../fakes/seededRandom.ts';
import { FakeStripe } from '../fakes/stripe/fakeStripe.ts';

const ACCEPTED = { isGood: true, isUnknown: false };
const REJECTED = { isGood: false, isUnknown: false };
const UNKNOWN = { isGood: false, isUnknown: true };

describe('the books of the clients of a chaos run', () => {
  let world: ClientState;
  let turn: Step;

  beforeEach(() => {
    const around = { addresses: ['http://127.0.0.1:1'], accounts: 2, clients: 1, now: () => new Date() };
    world = createClientState({ ...around, stripe: new FakeStripe(), random: createSeededRandom(1) });
    for (const customer of world.customers) {
      customer.uuid = `account-${customer.index}`;
      world.store.accounts.set(customer.uuid, customer.email);
    }
    turn = turnOf(0);
  });

  function turnOf(index: number): Step {
    const customer = world.customers[index] as Step['customer'];
    return { state: world, customer, random: createSeededRandom('turn'), name: String(index), ids: 0 };
  }

  function answered(order: CreateRequest, uuid: string, changes = {}) {
    const { prompt, model, credits: credits_charged } = order.observed;
    recordSent(turn, order);
    const shown = { uuid, prompt, model, credits_charged, status: 'queued', output_url: null, ...changes };
    recordCreateResponse(turn, order, ACCEPTED, shown, 'REST');
    return shown;
  }

  function sent(outcome: typeof UNKNOWN): CreateRequest {
    const order = newCreateRequest(turn, null);
    recordSent(turn, order);
    recordCreateResponse(turn, order, outcome, undefined, 'REST');
    return order;
  }

  const broken = () => world.store.violations.map(({ invariant }) => invariant);

  it('are in order where a generation is ordered twice under one key, ends, and is deleted', () => {
    const order = newCreateRequest(turn, 'key');
    const shown = answered(order, 'a');
    answered(order, 'a');
    recordShownGeneration(turn, shown, performance.now());
    const ended = { ...shown, status: 'succeeded', output_url: 'http://127.0.0.1:1/media/a.png' };
    const before = performance.now();
    recordShownGeneration(turn, ended, before);
    // The same generation from another process; and a response that was in flight when the end was observed.
    recordShownGeneration(turn, { ...ended, output_url: 'http://127.0.0.1:2/media/a.png' }, performance.now());
    recordShownGeneration(turn, shown, before - 1);
    expect(broken()).to.deep.equal([]);
  });

  it('tell of two generations under one key, and of another price', () => {
    const order = newCreateRequest(turn, 'key');
    answered(order, 'a');
    answered(order, 'b');
    answered(newCreateRequest(turn, null), 'c', { credits_charged: 1 });
    expect(broken()).to.deep.equal(['same-key-same-answer', 'price-is-the-catalogs']);
  });

  it('tell of an end that does not last', () => {
    const shown = answered(newCreateRequest(turn, null), 'a');
    recordShownGeneration(turn, { ...shown, status: 'failed' }, performance.now());
    recordShownGeneration(turn, shown, performance.now() + 1);
    expect(broken()).to.deep.equal(['end-is-final']);
  });

  it('tell of what is shown after it was deleted, and of what is not its own', () => {
    const shown = answered(newCreateRequest(turn, null), 'a');
    const told = world.store.generations.get('a');
    if (told !== undefined) told.deletedAt = performance.now();
    recordShownGeneration(turn, shown, performance.now() + 1);
    recordShownGeneration(turnOf(1), shown, 0);
    recordShownGeneration(turn, { ...shown, uuid: 'x', prompt: 'nobody has ordered this' }, 0);
    expect(broken()).to.deep.equal(['deleted-is-gone', 'lists-are-ones-own', 'nothing-unasked-for']);
  });

  it('are held against the database', async () => {
    const kept = answered(newCreateRequest(turn, null), 'a');
    answered(newCreateRequest(turn, null), 'b');
    const lost = sent(UNKNOWN);
    const refused = sent(REJECTED);
    const row = { account_uuid: 'account-0', status: 'queued', deleted_at: null };
    const rowOf = ({ observed }: CreateRequest, uuid: string) => ({
      ...row,
      uuid,
      model: observed.model,
      prompt: observed.prompt,
      credits_charged: observed.credits,
    });
    const rows = [
      { ...row, uuid: 'a', model: kept.model, prompt: kept.prompt, credits_charged: kept.credits_charged },
      // Its response was lost: one generation is allowed, two are not.
      rowOf(lost, 'l1'),
      rowOf(lost, 'l2'),
      rowOf(refused, 'r'),
    ];
    const accounts = world.customers.map(({ uuid, email, index }) => ({ id: String(index + 1), uuid, email }));
    const database = {
      query: (text: string) => {
        if (text.includes('FROM generations')) return Promise.resolve({ rows });
        return Promise.resolve({ rows: text.includes('FROM accounts') ? accounts : [] });
      },
    };
    world.store.topups.push({ accountUuid: 'account-1', sessionId: 'cs_test_1', amountCents: 5_000, at: 0 });
    const found = await compareClientStore(world.store, database);
    expect(found.map(({ invariant, accountId, subject }) => [invariant, accountId, subject])).to.deep.equal([
      ['created-is-there', '1', 'b'],
      ['one-order-one-generation', '1', lost.observed.prompt],
      ['refused-is-not-charged', '1', refused.observed.prompt],
      ['paid-topup-is-credited', '2', 'cs_test_1'],
    ]);
  });

  it('are the same for the same seed', () => {
    const prompts = [1, 2].map(() =>
      Array.from({ length: 3 }, () => newCreateRequest(turnOf(0), null).observed.prompt),
    );
    expect(prompts[0]).to.deep.equal(prompts[1]);
  });
});

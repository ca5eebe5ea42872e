import { expect } from 'chai';
import { compareBooks } from '../../dev/chaos/clients/compare.ts';
import { noteShown } from '../../dev/chaos/clients/generations.ts';
import { newOrder, noteOrdered, noteSent, type Order } from '../../dev/chaos/clients/orders.ts';
import { openWorld, type Turn, type World } from '../../dev/chaos/clients/world.ts';
import { randomFrom } from '../../dev/random.ts';
import { StripeStandIn } from '../../dev/standins/stripe/standIn.ts';

const GOOD = { isGood: true, isUnknown: false };
const REFUSED = { isGood: false, isUnknown: false };
const LOST = { isGood: false, isUnknown: true };

describe('the books of the clients of a chaos run', () => {
  let world: World;
  let turn: Turn;

  beforeEach(() => {
    const around = { addresses: ['http://127.0.0.1:1'], accounts: 2, clients: 1, now: () => new Date() };
    world = openWorld({ ...around, stripe: new StripeStandIn(), random: randomFrom(1) });
    for (const customer of world.customers) {
      customer.uuid = `account-${customer.index}`;
      world.books.accounts.set(customer.uuid, customer.email);
    }
    turn = turnOf(0);
  });

  function turnOf(index: number): Turn {
    const customer = world.customers[index] as Turn['customer'];
    return { world, customer, random: randomFrom('turn'), name: String(index), ids: 0 };
  }

  function answered(order: Order, uuid: string, changes = {}) {
    const { prompt, model, credits: credits_charged } = order.told;
    noteSent(turn, order);
    const shown = { uuid, prompt, model, credits_charged, status: 'queued', output_url: null, ...changes };
    noteOrdered(turn, order, GOOD, shown, 'REST');
    return shown;
  }

  function sent(outcome: typeof LOST): Order {
    const order = newOrder(turn, null);
    noteSent(turn, order);
    noteOrdered(turn, order, outcome, undefined, 'REST');
    return order;
  }

  const broken = () => world.books.violations.map(({ invariant }) => invariant);

  it('are in order where a generation is ordered twice under one key, ends, and is deleted', () => {
    const order = newOrder(turn, 'key');
    const shown = answered(order, 'a');
    answered(order, 'a');
    noteShown(turn, shown, performance.now());
    const ended = { ...shown, status: 'succeeded', output_url: 'http://127.0.0.1:1/media/a.png' };
    const before = performance.now();
    noteShown(turn, ended, before);
    // The same from the process next door; and an answer that was on its way when the end was seen.
    noteShown(turn, { ...ended, output_url: 'http://127.0.0.1:2/media/a.png' }, performance.now());
    noteShown(turn, shown, before - 1);
    expect(broken()).to.deep.equal([]);
  });

  it('tell of two generations under one key, and of another price', () => {
    const order = newOrder(turn, 'key');
    answered(order, 'a');
    answered(order, 'b');
    answered(newOrder(turn, null), 'c', { credits_charged: 1 });
    expect(broken()).to.deep.equal(['same-key-same-answer', 'price-is-the-catalogs']);
  });

  it('tell of an end that does not last', () => {
    const shown = answered(newOrder(turn, null), 'a');
    noteShown(turn, { ...shown, status: 'failed' }, performance.now());
    noteShown(turn, shown, performance.now() + 1);
    expect(broken()).to.deep.equal(['end-is-final']);
  });

  it('tell of what is shown after it was deleted, and of what is not its own', () => {
    const shown = answered(newOrder(turn, null), 'a');
    const told = world.books.generations.get('a');
    if (told !== undefined) told.deletedAt = performance.now();
    noteShown(turn, shown, performance.now() + 1);
    noteShown(turnOf(1), shown, 0);
    noteShown(turn, { ...shown, uuid: 'x', prompt: 'nobody has ordered this' }, 0);
    expect(broken()).to.deep.equal(['deleted-is-gone', 'lists-are-ones-own', 'nothing-unasked-for']);
  });

  it('are held against the database', async () => {
    const kept = answered(newOrder(turn, null), 'a');
    answered(newOrder(turn, null), 'b');
    const lost = sent(LOST);
    const refused = sent(REFUSED);
    const row = { account_uuid: 'account-0', status: 'queued', deleted_at: null };
    const rowOf = ({ told }: Order, uuid: string) => ({
      ...row,
      uuid,
      model: told.model,
      prompt: told.prompt,
      credits_charged: told.credits,
    });
    const rows = [
      { ...row, uuid: 'a', model: kept.model, prompt: kept.prompt, credits_charged: kept.credits_charged },
      // Its answer was lost: one is in order, two are not.
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
    world.books.topups.push({ accountUuid: 'account-1', sessionId: 'cs_test_1', amountCents: 5_000, at: 0 });
    const found = await compareBooks(world.books, database);
    expect(found.map(({ invariant, accountId, subject }) => [invariant, accountId, subject])).to.deep.equal([
      ['created-is-there', '1', 'b'],
      ['one-order-one-generation', '1', lost.told.prompt],
      ['refused-is-not-charged', '1', refused.told.prompt],
      ['paid-topup-is-credited', '2', 'cs_test_1'],
    ]);
  });

  it('are the same for the same seed', () => {
    const prompts = [1, 2].map(() => Array.from({ length: 3 }, () => newOrder(turnOf(0), null).told.prompt));
    expect(prompts[0]).to.deep.equal(prompts[1]);
  });
});

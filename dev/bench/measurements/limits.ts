import type { Bench } from '../bench.ts';
import type { Figures } from '../figure.ts';
import { buildCreates } from '../httpRequests.ts';
import { startSides } from '../sides.ts';
import { seedLimits } from '../specialSeeds.ts';
import { countRows, verifyCount } from '../verify.ts';

/** Measures creates by API keys with a daily spending limit against creates by keys without one. */
export async function* measure(bench: Bench): Figures {
  const sides = await startSides(bench, 'limits', { afterSeed: ({ client }) => seedLimits(client) }, {});
  const creates = { requests: buildCreates(bench.options.accounts), expect: 201 };
  const name = 'create by a key with a spending limit : without';
  yield sides.compare({ ...creates, name, target: [1.1, 1.1] });
  yield sides.compare({ ...creates, name: `${name}, 32 clients`, clients: 32, target: [0.9, 0.9] });
  await sides.verify();
  // A limit that was skipped cannot pass for a fast one.
  const counted = 'spending_limits l JOIN accounts a ON a.id = l.account_id WHERE l.used <> a.period_used';
  verifyCount('limits that differ from what their keys spent', await countRows(sides.ours.client, counted), 0);
}

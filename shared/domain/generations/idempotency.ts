import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, run } from '../../lib/db.ts';
import { IDEMPOTENCY_KEY_MS } from '../../spec/limits.ts';

const AT_ONCE = 1_000;

const FORGET = prepared(
  'forget_idempotency_keys',
  `WITH old AS (
     SELECT uuid FROM generations WHERE idempotency_key IS NOT NULL AND created_at <= :before
      ORDER BY created_at LIMIT ${AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET idempotency_key = NULL FROM old WHERE g.uuid = old.uuid
   RETURNING g.uuid`,
);

/** Forgets the idempotency keys of generations that are more than a day old: they may be used anew. */
export async function forgetIdempotencyKeys(): Promise<void> {
  const before = addMilliseconds(now(), -IDEMPOTENCY_KEY_MS);
  for (;;) {
    const rows = await run(FORGET, { before });
    if (rows.length < AT_ONCE) return;
  }
}
